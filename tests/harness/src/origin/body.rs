//! Reads the body of a request off the wire, strictly (RFC 9112 sections 6 and 7.1).

use crate::case::SeenFraming;
use crate::evidence::Line;

/// A body that is being read.
pub(super) struct RequestBody {
    state: State,
    /// How many bytes came.
    pub(super) received: u64,
}

enum State {
    Length(u64),
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailer,
    Done,
}

impl RequestBody {
    /// The body that a head announces.
    pub(super) fn of(lines: &[Line]) -> Result<(Self, SeenFraming), String> {
        let value = |name: &str| lines.iter().find(|(known, _)| known == name).map(|line| &line.1);
        let (state, framing) = if let Some(coding) = value("transfer-encoding") {
            if coding != b"chunked" {
                return Err("a transfer-encoding that is not exactly chunked".to_owned());
            }
            (State::ChunkSize, SeenFraming::Chunked)
        } else if let Some(length) = value("content-length") {
            match decimal(length).ok_or("a content-length that is no number")? {
                0 => (State::Done, SeenFraming::ContentLength),
                length => (State::Length(length), SeenFraming::ContentLength),
            }
        } else {
            (State::Done, SeenFraming::None)
        };
        Ok((Self { state, received: 0 }, framing))
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes what it can from the front of `buffer` and gives the body bytes to `sink`.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>, mut sink: impl FnMut(&[u8])) -> Result<(), String> {
        loop {
            match &mut self.state {
                State::Done => return Ok(()),
                State::Length(left) | State::Chunk(left) => {
                    let count = (*left).min(buffer.len() as u64);
                    if count == 0 {
                        return Ok(());
                    }
                    *left -= count;
                    self.received += count;
                    let whole = *left == 0;
                    sink(&buffer.drain(..count as usize).collect::<Vec<_>>());
                    if whole {
                        self.state = match self.state {
                            State::Chunk(_) => State::ChunkEnd,
                            _ => State::Done,
                        };
                    }
                }
                State::ChunkSize => match line(buffer) {
                    None => return Ok(()),
                    Some(size) => self.state = chunk(&size)?,
                },
                State::ChunkEnd => match line(buffer) {
                    None => return Ok(()),
                    Some(end) if end.is_empty() => self.state = State::ChunkSize,
                    Some(_) => return Err("a chunk longer than its size".to_owned()),
                },
                State::Trailer => match line(buffer) {
                    None => return Ok(()),
                    Some(end) if end.is_empty() => self.state = State::Done,
                    Some(_) => return Err("a trailer in a request".to_owned()),
                },
            }
        }
    }
}

fn chunk(size: &[u8]) -> Result<State, String> {
    let size = std::str::from_utf8(size).ok().and_then(|size| u64::from_str_radix(size, 16).ok());
    match size.ok_or("a chunk size that is no hexadecimal number")? {
        0 => Ok(State::Trailer),
        size => Ok(State::Chunk(size)),
    }
}

/// A line up to CRLF, taken from the front of the buffer.
pub(super) fn line(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = buffer.windows(2).position(|pair| pair == b"\r\n")?;
    let mut line: Vec<u8> = buffer.drain(..end + 2).collect();
    line.truncate(end);
    Some(line)
}

fn decimal(value: &[u8]) -> Option<u64> {
    value.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(value).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str, wire: &str) -> Result<(String, bool), String> {
        let (mut body, _) = RequestBody::of(&[(name.to_owned(), value.as_bytes().to_vec())])?;
        let (mut text, mut buffer) = (Vec::new(), Vec::new());
        for byte in wire.bytes() {
            buffer.push(byte);
            body.take(&mut buffer, |bytes| text.extend_from_slice(bytes))?;
        }
        Ok((String::from_utf8_lossy(&text).into_owned(), body.is_done()))
    }

    #[test]
    fn a_body_is_read_to_its_end_and_no_further() {
        let ok = |text: &str, whole| Ok((text.to_owned(), whole));
        assert_eq!(read("content-length", "3", "abcGET"), ok("abc", true));
        assert_eq!(read("content-length", "4", "abc"), ok("abc", false));
        assert_eq!(read("transfer-encoding", "chunked", "3\r\nabc\r\n0\r\n\r\n"), ok("abc", true));
        assert_eq!(read("transfer-encoding", "chunked", "3\r\nabc\r\n0\r\n"), ok("abc", false));
        assert_eq!(read("accept", "x", "abc"), ok("", true));
    }

    #[test]
    fn a_malformed_body_is_a_fault() {
        for (name, value, wire) in [
            ("content-length", "+3", ""),
            ("content-length", "", ""),
            ("transfer-encoding", "gzip, chunked", ""),
            ("transfer-encoding", "chunked", "x\r\n"),
            ("transfer-encoding", "chunked", "3\r\nabcd\r\n"),
            ("transfer-encoding", "chunked", "0\r\nx-trailer: 1\r\n"),
        ] {
            assert!(read(name, value, wire).is_err(), "{name}: {value} {wire:?}");
        }
    }
}
