//! HTTP/2: frames after a preface; a head is a HEADERS frame and the CONTINUATION frames that follow
//! it up to END_HEADERS (RFC 9113 sections 3.4, 4.1 and 6.10).

const PREFACE: usize = 24;
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

#[derive(Default)]
pub(in super::super) struct Http2 {
    /// Bytes of the preface that have come.
    preface: usize,
    head: [u8; FRAME_HEAD],
    /// Bytes of the frame's head that have come.
    filled: usize,
    /// Bytes of its payload that are to come.
    left: usize,
    /// A HEADERS frame has come, and END_HEADERS has not.
    is_open: bool,
}

impl Http2 {
    /// A frame or a head has begun and is not complete. Half a DATA frame is its request's affair,
    /// whose clock waits for it; with nothing in flight there is no such clock.
    pub(in super::super) fn is_partial(&self, in_flight: bool) -> bool {
        let is_content = in_flight && self.filled == FRAME_HEAD && self.kind() == DATA;
        self.is_open || (self.filled > 0 && !is_content)
    }

    /// Says whether a frame or a head that had begun ended.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let preface = (PREFACE - self.preface).min(bytes.len());
        self.preface += preface;
        let mut bytes = bytes.get(preface..).unwrap_or_default();
        let mut completed = false;
        while !bytes.is_empty() {
            if self.filled < FRAME_HEAD {
                let (slots, rest) = (self.head.iter_mut().skip(self.filled), bytes);
                let taken = slots.zip(rest).map(|(slot, byte)| *slot = *byte).count();
                self.filled += taken;
                bytes = bytes.get(taken..).unwrap_or_default();
                if self.filled < FRAME_HEAD {
                    break;
                }
                let [high, middle, low, ..] = self.head;
                self.left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
            }
            let taken = self.left.min(bytes.len());
            self.left -= taken;
            bytes = bytes.get(taken..).unwrap_or_default();
            if self.left == 0 {
                completed |= self.complete();
            }
        }
        completed
    }

    /// The frame is whole. Says whether nothing that it began is open now.
    fn complete(&mut self) -> bool {
        let [.., flags, _, _, _, _] = self.head;
        if matches!(self.kind(), HEADERS | CONTINUATION) {
            self.is_open = flags & END_HEADERS == 0;
        }
        self.filled = 0;
        !self.is_open
    }

    fn kind(&self) -> u8 {
        let [_, _, _, kind, ..] = self.head;
        kind
    }
}
