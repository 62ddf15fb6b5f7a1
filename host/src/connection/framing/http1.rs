//! HTTP/1: a head ends with an empty line (RFC 9112 section 2.1), and hyper says what follows it.

use super::Content;

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A head; before its first byte, no head at all.
    Head(Line),
    /// A head is complete, and hyper has not said yet what follows it.
    Untold,
    Content(u64),
    Chunk(Chunk),
}

/// The line that the bytes stand in; a lone LF ends one too (RFC 9112 section 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// No byte of the section has come.
    Unbegun,
    Empty,
    Begun,
}

/// Where in a chunked body (RFC 9112 section 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Size(u64),
    Extension(u64),
    Data(u64),
    /// The line end behind the data.
    End,
    Trailers(Line),
}

pub(in super::super) struct Http1 {
    part: Part,
    /// Bytes behind a head that came before hyper said what they are: no more than hyper holds.
    untold: Vec<u8>,
}

impl Default for Http1 {
    fn default() -> Self {
        Self { part: Part::Head(Line::Unbegun), untold: Vec::new() }
    }
}

impl Http1 {
    /// A head has begun and is not complete.
    pub(in super::super) fn is_within_head(&self) -> bool {
        matches!(self.part, Part::Head(Line::Empty | Line::Begun))
    }

    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            bytes = match self.part {
                Part::Untold => {
                    self.untold.extend_from_slice(bytes);
                    return;
                }
                Part::Content(left) => self.skip(bytes, left, Part::Content, Part::Head(Line::Unbegun)),
                Part::Chunk(Chunk::Data(left)) => {
                    let data = |left| Part::Chunk(Chunk::Data(left));
                    self.skip(bytes, left, data, Part::Chunk(Chunk::End))
                }
                Part::Head(line) => {
                    self.part = line.next(*first).map_or(Part::Untold, Part::Head);
                    rest
                }
                Part::Chunk(chunk) => {
                    self.part = chunk.next(*first).map_or(Part::Head(Line::Unbegun), Part::Chunk);
                    rest
                }
            };
        }
    }

    fn skip<'b>(&mut self, bytes: &'b [u8], left: u64, more: impl Fn(u64) -> Part, then: Part) -> &'b [u8] {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let left = left - u64::try_from(here).unwrap_or(left);
        self.part = if left == 0 { then } else { more(left) };
        bytes.get(here..).unwrap_or_default()
    }

    pub(super) fn head_was_read(&mut self, content: Content) {
        self.part = match content {
            Content::None | Content::Length(0) => Part::Head(Line::Unbegun),
            Content::Length(length) => Part::Content(length),
            Content::Chunked => Part::Chunk(Chunk::Size(0)),
        };
        let untold = std::mem::take(&mut self.untold);
        self.take(&untold);
    }
}

impl Line {
    /// `None` at the end of the empty line that ends the section. Empty lines before a head are
    /// skipped (RFC 9112 section 2.2).
    fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Unbegun, b'\r' | b'\n') => Some(Self::Unbegun),
            (Self::Empty, b'\n') => None,
            (Self::Empty, b'\r') | (Self::Begun, b'\n') => Some(Self::Empty),
            _ => Some(Self::Begun),
        }
    }
}

impl Chunk {
    /// `None` at the end of the body.
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Size(0) | Self::Extension(0), b'\n') => Self::Trailers(Line::Empty),
            (Self::Size(size) | Self::Extension(size), b'\n') => Self::Data(size),
            (Self::Size(size), _) => match char::from(byte).to_digit(16) {
                Some(digit) => Self::Size(size.saturating_mul(16).saturating_add(u64::from(digit))),
                None => Self::Extension(size),
            },
            (Self::End, b'\n') => Self::Size(0),
            (Self::Trailers(line), _) => Self::Trailers(line.next(byte)?),
            (other, _) => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "POST / HTTP/1.1\r\nhost: a\r\n\r\n";

    /// Requests as hyper reads them: a head is told as soon as it is complete, whatever the pieces.
    fn within_head(messages: &[(&str, Content)], behind: &str) -> Vec<bool> {
        let bytes: String = messages.iter().map(|(bytes, _)| *bytes).chain([behind]).collect();
        let pieces = |size: usize| {
            let mut http1 = Http1::default();
            let mut told = messages.iter();
            for piece in bytes.as_bytes().chunks(size) {
                http1.take(piece);
                while http1.part == Part::Untold {
                    http1.head_was_read(told.next().expect("as many heads as messages").1);
                }
            }
            assert!(told.next().is_none(), "a head was missed");
            http1.is_within_head()
        };
        [1, 2, 3, 7, 4096].map(pieces).to_vec()
    }

    #[test]
    fn a_head_behind_any_content_is_seen_and_nothing_else_is_taken_for_one() {
        let length = format!("{HEAD}GET /");
        let chunked = format!("{HEAD}5;x=\"y\"\r\nGET /\r\n0A\r\n\r\n\r\n\r\nabcd\r\n0\r\n\r\n");
        let trailers = format!("{HEAD}1\r\nx\r\n0\r\na: b\r\nc: d\r\n\r\n");
        let all = [
            (HEAD, Content::None),
            (length.as_str(), Content::Length(5)),
            (chunked.as_str(), Content::Chunked),
            (trailers.as_str(), Content::Chunked),
            ("GET / HTTP/1.1\nhost: a\n\n", Content::None),
            ("\r\n\nGET / HTTP/1.1\r\n\n", Content::Length(0)),
        ];
        for first in all {
            for second in all {
                let messages = [first, second];
                assert_eq!(within_head(&messages, ""), [false; 5], "{messages:?}");
                assert_eq!(within_head(&messages, "\r\n"), [false; 5], "{messages:?}");
                for behind in ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: a\r\n\r"] {
                    assert_eq!(within_head(&messages, behind), [true; 5], "{messages:?} {behind:?}");
                }
            }
        }
    }

    #[test]
    fn half_a_body_is_no_head() {
        for (body, content) in
            [("GE", Content::Length(3)), ("5\r\nGE", Content::Chunked), ("0\r\na: b", Content::Chunked)]
        {
            assert_eq!(within_head(&[(HEAD, content)], body), [false; 5], "{content:?}");
        }
    }

    #[test]
    fn a_chunk_of_any_size_told_overflows_nothing() {
        let size = "f".repeat(40);
        assert_eq!(within_head(&[(HEAD, Content::Chunked)], &format!("{size}\r\nGET /")), [false; 5]);
    }
}
