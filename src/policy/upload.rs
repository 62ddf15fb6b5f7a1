//! The client's body: what was read of it, what the open request has taken, and the copy from
//! which a failover or a redirect replays it (contract 2.6).
//!
//! Every byte read is kept until the copy would exceed its cap. From the byte that exceeds it the
//! copy is gone and only what is not yet taken is held: the request stays on its attempt.

/// Whether, and how, a request announces a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none: a GET, or `content-length: 0`.
    Empty,
    /// A content-length above zero.
    Length,
    /// No content-length: chunked, h2 without a length, or nothing at all. Only the first bytes or
    /// the end tell.
    Unknown,
}

/// What the shell should do next about the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadStep {
    /// Nothing.
    Idle,
    /// Read the next bytes from the client.
    Read,
    /// Hand the pending bytes to the open request, as many as it takes.
    Write,
    /// End the open request's body, whole.
    Finish,
}

/// The client's body and its replay copy.
#[derive(Debug)]
pub struct Upload {
    /// Everything read so far while `intact`, afterwards only what is not taken.
    buffer: Vec<u8>,
    /// How much of `buffer` the open request has taken.
    taken: usize,
    /// The largest copy, in bytes.
    cap: usize,
    /// Whether `buffer` starts with the body's first byte.
    intact: bool,
    /// Whether the client's body is read to its end.
    ended: bool,
    /// What the open request still wants.
    outlet: Outlet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outlet {
    /// The request carries no body.
    None,
    /// It takes bytes.
    Open,
    /// It was given the whole body, or it takes no more of it.
    Closed,
}

impl Upload {
    /// A body of which nothing is read yet.
    #[must_use]
    pub const fn new(framing: Framing, cap: usize) -> Self {
        let ended = matches!(framing, Framing::Empty);
        Self { buffer: Vec::new(), taken: 0, cap, intact: true, ended, outlet: Outlet::None }
    }

    /// Whether there is a body at all, as far as is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ended && self.intact && self.buffer.is_empty()
    }

    /// Whether everything read so far is in the copy, so that another request can begin with it.
    #[must_use]
    pub const fn is_replayable(&self) -> bool {
        self.intact
    }

    /// A new request opens; it gets the body from its first byte, or none.
    pub const fn reopen(&mut self, with_body: bool) {
        self.taken = 0;
        self.outlet = if with_body { Outlet::Open } else { Outlet::None };
    }

    /// No request will need the copy any more.
    pub fn forget(&mut self) {
        self.intact = false;
        self.release();
    }

    /// Bytes were read from the client. False when there is no memory for them: the body can't be
    /// delivered whole any more. What comes after the end, or where there is no body, is no part of it.
    #[must_use]
    pub fn keep(&mut self, chunk: Vec<u8>) -> bool {
        if self.ended {
            return true;
        }
        if self.intact && self.buffer.len().saturating_add(chunk.len()) > self.cap {
            self.forget();
        }
        if !self.buffer.is_empty() && self.buffer.try_reserve(chunk.len()).is_err() {
            // The copy goes; the upload goes on if nothing of it is still to be taken.
            self.forget();
        }
        if self.buffer.is_empty() {
            self.buffer = chunk;
            return true;
        }
        if self.buffer.try_reserve(chunk.len()).is_err() {
            return false;
        }
        self.buffer.extend_from_slice(&chunk);
        true
    }

    /// The client's body is complete.
    pub const fn end(&mut self) {
        self.ended = true;
    }

    /// The bytes that the open request has not taken yet.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        self.buffer.get(self.taken..).unwrap_or_default()
    }

    /// The open request took that many of the pending bytes.
    pub fn took(&mut self, count: usize) {
        self.taken = self.taken.saturating_add(count).min(self.buffer.len());
        if !self.intact {
            self.release();
        }
    }

    /// The open request takes no more: it has the whole body, or its origin stopped reading.
    pub const fn close(&mut self) {
        if matches!(self.outlet, Outlet::Open) {
            self.outlet = Outlet::Closed;
        }
    }

    /// What comes next.
    #[must_use]
    pub fn step(&self) -> UploadStep {
        match self.outlet {
            Outlet::None | Outlet::Closed => UploadStep::Idle,
            Outlet::Open if !self.pending().is_empty() => UploadStep::Write,
            Outlet::Open if self.ended => UploadStep::Finish,
            Outlet::Open => UploadStep::Read,
        }
    }

    /// Drops what was taken and will not be replayed.
    fn release(&mut self) {
        if self.taken == self.buffer.len() {
            // Not `clear`: the memory of a dropped copy goes back.
            self.buffer = Vec::new();
        } else {
            self.buffer.drain(..self.taken);
        }
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(cap: usize) -> Upload {
        let mut upload = Upload::new(Framing::Length, cap);
        upload.reopen(true);
        upload
    }

    #[test]
    fn a_replay_is_complete_and_then_reads_on() {
        let mut upload = open(10);
        assert!(upload.keep(b"abc".to_vec()));
        upload.took(2);
        assert_eq!(upload.pending(), b"c");
        upload.took(1);
        assert_eq!(upload.step(), UploadStep::Read);
        upload.reopen(true);
        assert_eq!((upload.pending(), upload.step()), (b"abc".as_slice(), UploadStep::Write));
        upload.took(3);
        assert!(upload.keep(b"de".to_vec()));
        upload.end();
        assert_eq!(upload.pending(), b"de");
        upload.took(2);
        assert_eq!(upload.step(), UploadStep::Finish);
        upload.close();
        assert_eq!(upload.step(), UploadStep::Idle);
    }

    #[test]
    fn a_body_of_exactly_the_cap_is_replayable_and_one_byte_more_is_not() {
        let mut upload = open(4);
        assert!(upload.keep(b"abcd".to_vec()));
        assert!(upload.is_replayable());
        upload.took(4);
        assert!(upload.keep(b"e".to_vec()));
        assert!(!upload.is_replayable());
        assert_eq!(upload.pending(), b"e");
    }

    #[test]
    fn a_dropped_copy_holds_only_what_is_not_taken() {
        let mut upload = open(2);
        for _ in 0..1000 {
            assert!(upload.keep(vec![7; 1000]));
            assert!(upload.buffer.len() <= 1000);
            upload.took(400);
            assert_eq!(upload.pending().len(), 600);
            upload.took(600);
            assert_eq!(upload.step(), UploadStep::Read);
        }
    }

    #[test]
    fn a_request_without_a_body_takes_nothing() {
        let mut upload = open(10);
        assert!(upload.keep(b"abc".to_vec()));
        upload.reopen(false);
        assert_eq!(upload.step(), UploadStep::Idle);
    }

    #[test]
    fn emptiness_is_known_from_the_framing_or_the_end() {
        assert!(Upload::new(Framing::Empty, 1).is_empty());
        let mut upload = Upload::new(Framing::Unknown, 1);
        assert!(!upload.is_empty());
        upload.end();
        assert!(upload.is_empty());
    }
}
