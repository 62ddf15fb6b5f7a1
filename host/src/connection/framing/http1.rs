//! HTTP/1: a head ends with an empty line (RFC 9112 section 2.1), and hyper says what follows it.
//!
//! The line ends of a head may be lone LFs (section 2.2), those of chunked framing may not (section
//! 7.1). hyper waits for CRLF at the end of a trailer section and reads the lines in it by lone LFs, so
//! what a lone LF ends for one reader is the middle of a line for another: such a body is malformed here,
//! and nobody reads on behind it.

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
    /// Nobody can tell.
    Malformed,
}

/// The line of a head that the bytes stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// No byte of the head has come.
    Unbegun,
    Empty,
    Begun,
}

/// Where in a chunked body (RFC 9112 section 7.1); `Lf` stands behind a CR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Size(u64),
    Extension(u64),
    SizeLf(u64),
    Data(u64),
    DataCr,
    DataLf,
    /// The begin of a line behind the last chunk: of a trailer, or the empty one.
    LineStart,
    Trailer,
    TrailerLf,
    EndLf,
}

/// The framing of a chunked body has no meaning, or more than one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Malformed;

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
    /// A head has begun, and hyper has not read it to its end.
    pub(in super::super) fn is_within_head(&self) -> bool {
        matches!(self.part, Part::Head(Line::Empty | Line::Begun) | Part::Untold)
    }

    pub(super) fn is_malformed(&self) -> bool {
        self.part == Part::Malformed
    }

    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            bytes = match self.part {
                Part::Untold => {
                    self.untold.extend_from_slice(bytes);
                    return;
                }
                Part::Malformed => return,
                Part::Content(left) => self.skip(bytes, left, Part::Content, Part::Head(Line::Unbegun)),
                Part::Chunk(Chunk::Data(left)) => {
                    let data = |left| Part::Chunk(Chunk::Data(left));
                    self.skip(bytes, left, data, Part::Chunk(Chunk::DataCr))
                }
                // Nothing but its end changes a line that has begun.
                Part::Head(Line::Begun) if *first != b'\n' => bytes
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(&[], |end| bytes.get(end..).unwrap_or_default()),
                Part::Head(line) => {
                    self.part = line.next(*first).map_or(Part::Untold, Part::Head);
                    rest
                }
                Part::Chunk(chunk) => {
                    self.part = match chunk.next(*first) {
                        Ok(Some(chunk)) => Part::Chunk(chunk),
                        Ok(None) => Part::Head(Line::Unbegun),
                        Err(Malformed) => Part::Malformed,
                    };
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

    /// hyper has read a head. One that has not ended here is read in two ways.
    pub(super) fn head_was_read(&mut self, content: Content) {
        self.part = match content {
            _ if self.part != Part::Untold => Part::Malformed,
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
    fn next(self, byte: u8) -> Result<Option<Self>, Malformed> {
        Ok(Some(match (self, byte) {
            (Self::Size(size) | Self::Extension(size), b'\r') => Self::SizeLf(size),
            (Self::Size(_) | Self::Extension(_) | Self::LineStart | Self::Trailer, b'\n') => {
                return Err(Malformed);
            }
            (Self::Size(size), _) => match char::from(byte).to_digit(16) {
                Some(digit) => Self::Size(size.saturating_mul(16).saturating_add(u64::from(digit))),
                None => Self::Extension(size),
            },
            (Self::Extension(size), _) => Self::Extension(size),
            (Self::SizeLf(0) | Self::TrailerLf, b'\n') => Self::LineStart,
            (Self::SizeLf(size), b'\n') => Self::Data(size),
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::Size(0),
            (Self::LineStart, b'\r') => Self::EndLf,
            (Self::Trailer, b'\r') => Self::TrailerLf,
            (Self::LineStart | Self::Trailer, _) => Self::Trailer,
            (Self::EndLf, b'\n') => return Ok(None),
            _ => return Err(Malformed),
        }))
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
    fn a_lone_line_end_in_chunked_framing_is_malformed_wherever_it_stands() {
        for body in [
            "1\nx\r\n0\r\n\r\n",
            "1;a\nx\r\n0\r\n\r\n",
            "1\r\nx\n0\r\n\r\n",
            "0\n\r\n",
            "0\r\n\n",
            "0\r\nx: y\n\r\n",
            "0\r\nx: y\n\nQ\n\n\r\n\r\n",
            "0\r\nx: y\r\n\n",
            "0\r\nx: y\rz\r\n\r\n",
            "0\r\n\rz",
        ] {
            for size in [1, 2, 3, 7, 4096] {
                let mut http1 = Http1::default();
                let bytes = format!("{HEAD}{body}GET / HTTP/1.1\r\n");
                for piece in bytes.as_bytes().chunks(size) {
                    http1.take(piece);
                    if http1.part == Part::Untold {
                        http1.head_was_read(Content::Chunked);
                    }
                }
                assert!(http1.is_malformed(), "{body:?} by {size}");
            }
        }
    }

    #[test]
    fn a_head_that_hyper_alone_has_read_is_malformed_and_one_that_it_has_not_read_is_still_a_head() {
        let mut http1 = Http1::default();
        http1.take(b"GET / HTTP/1.1\r\n");
        http1.head_was_read(Content::None);
        assert!(http1.is_malformed());
        let mut http1 = Http1::default();
        http1.take(HEAD.as_bytes());
        assert!(http1.is_within_head());
    }

    #[test]
    fn a_chunk_of_any_size_told_overflows_nothing() {
        let size = "f".repeat(40);
        assert_eq!(within_head(&[(HEAD, Content::Chunked)], &format!("{size}\r\nGET /")), [false; 5]);
    }
}
