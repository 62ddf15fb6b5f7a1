//! Byte strings of any size, compared without keeping them: length, digest, and the beginning.

use std::fmt;

use crate::case::{Body, Piece};

/// How much of a content is kept to be shown and searched.
const KEPT: usize = 1 << 20;

/// How much of a content a failing case prints.
const SHOWN: usize = 300;

/// A byte string that was received or is expected.
#[derive(Clone)]
pub struct Content {
    len: u64,
    digest: u64,
    start: Vec<u8>,
}

impl Default for Content {
    fn default() -> Self {
        // FNV-1a, 64 bit: the digest guards against faults, not against forgery.
        Self { len: 0, digest: 0xcbf2_9ce4_8422_2325, start: Vec::new() }
    }
}

impl Content {
    /// What a body of a case sends, or its first `most` bytes.
    #[must_use]
    pub fn of(body: &Body, most: u64) -> Self {
        let mut content = Self::default();
        for run in body.0.iter().flat_map(|piece: &Piece| piece.runs(1 << 16)) {
            let left = usize::try_from(most - content.len).unwrap_or(usize::MAX);
            content.push(run.get(..left).unwrap_or(&run));
            if content.len == most {
                break;
            }
        }
        content
    }

    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        for byte in bytes {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let room = KEPT.saturating_sub(self.start.len());
        self.start.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first mebibyte.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        &self.start
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.digest == other.digest && self.start == other.start
    }
}

impl Eq for Content {}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.start.get(..SHOWN).unwrap_or(&self.start);
        write!(f, "\"{}\"", shown.escape_ascii())?;
        if self.len > shown.len() as u64 {
            write!(f, ".. ({} bytes, digest {:016x})", self.len, self.digest)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_does_not_depend_on_how_it_was_cut() {
        let body = Body(vec![
            Piece::Bytes(b"ab".to_vec()),
            Piece::Pause(5),
            Piece::Repeat { text: b"xyz".to_vec(), bytes: 3_000_001 },
        ]);
        let mut cut = Content::default();
        let whole: Vec<u8> = b"ab".iter().chain(b"xyz".iter().cycle().take(3_000_001)).copied().collect();
        whole.chunks(977).for_each(|chunk| cut.push(chunk));
        assert_eq!(cut, Content::of(&body, u64::MAX));
        assert_ne!(cut, Content::of(&body, 3_000_002));
        let mut prefix = Content::default();
        prefix.push(&whole[..100_000]);
        assert_eq!(prefix, Content::of(&body, 100_000));
    }
}
