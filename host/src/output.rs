//! What the process writes on standard output and standard error. While it serves, a thread of its own
//! writes each of the two, so that a reader who does not read, or a full disk, holds up no answer: lines
//! that are not taken in time are dropped and counted.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that may wait to be written.
const WAITING: usize = 1024 * 1024;
/// Before another try where a terminal or pipe that somebody made non-blocking takes nothing.
const BREATHER: Duration = Duration::from_millis(10);
/// How long the end of the process waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Lines on their way out.
pub(crate) struct Output(Arc<Queue>);

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Something has come to be written.
    come: Condvar,
    /// Everything has been written.
    done: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    is_writing: bool,
    /// Lines that nobody took, of which nothing has been said yet.
    lost: u64,
}

impl Output {
    /// `tell` is given the number of lines that were lost, once the reader reads again; what it returns is
    /// written behind what that reader has got.
    pub(crate) fn open(
        sink: impl Write + Send + 'static,
        tell: impl Fn(u64) -> String + Send + 'static,
    ) -> Self {
        let queue = Arc::new(Queue::default());
        let written = Arc::clone(&queue);
        std::thread::spawn(move || written.write_all(sink, tell));
        Self(queue)
    }

    /// Whole lines. Says whether they are the first to be lost since the reader last read.
    pub(crate) fn write(&self, lines: &[u8]) -> bool {
        let mut waiting = self.0.locked();
        if waiting.bytes.len().saturating_add(lines.len()) > WAITING {
            waiting.lost += count(lines);
            return waiting.lost == count(lines);
        }
        if waiting.bytes.is_empty() {
            self.0.come.notify_one();
        }
        waiting.bytes.extend_from_slice(lines);
        false
    }

    /// Until everything is written, but not longer than until then.
    pub(crate) fn flush(&self, until: Instant) {
        let mut waiting = self.0.locked();
        while waiting.is_writing || !waiting.bytes.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            waiting = self.0.done.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// When a process that ends now stops waiting for its last lines.
pub(crate) fn last_lines() -> Instant {
    Instant::now() + LAST_LINES
}

impl Queue {
    fn write_all(&self, mut sink: impl Write, tell: impl Fn(u64) -> String) {
        let mut lines = Vec::new();
        loop {
            self.next(&mut lines);
            // Output that is gone does not end the host.
            if write_whole(&mut sink, &lines).is_err() {
                self.locked().lost += count(&lines);
                continue;
            }
            let lost = std::mem::take(&mut self.locked().lost);
            if lost > 0 {
                let _ = write_whole(&mut sink, tell(lost).as_bytes());
            }
        }
    }

    /// Takes all that waits, as soon as something does.
    fn next(&self, lines: &mut Vec<u8>) {
        lines.clear();
        let mut waiting = self.locked();
        waiting.is_writing = false;
        while waiting.bytes.is_empty() {
            self.done.notify_all();
            waiting = self.come.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.is_writing = true;
        std::mem::swap(&mut waiting.bytes, lines);
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(lines: &[u8]) -> u64 {
    // A piece of a long line counts as one.
    lines.iter().filter(|byte| **byte == b'\n').map(|_| 1).sum::<u64>().max(1)
}

fn write_whole(sink: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(BREATHER),
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

/// The whole work of a command: it has failed if nobody takes it.
pub(crate) fn print(text: &str) -> ExitCode {
    match write_whole(&mut io::stdout(), text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("messageweave-lb: standard output: {error}\n")),
    }
}

/// What a command says on standard error. Nobody need take it.
pub(crate) fn remark(text: &str) {
    let _ = write_whole(&mut io::stderr(), text.as_bytes());
}

/// Why a command has failed.
pub(crate) fn complain(text: &str) -> ExitCode {
    remark(text);
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Takes a write for each word that it is given.
    struct Slow(Receiver<io::Result<()>>, Sender<String>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // The test has ended.
            self.0.recv().unwrap_or_else(|_| Err(ErrorKind::BrokenPipe.into()))?;
            let _ = self.1.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Output, Sender<io::Result<()>>, Receiver<String>) {
        let (words, taken) = channel();
        let (sent, written) = channel();
        (Output::open(Slow(taken, sent), |lost| format!("lost {lost}\n")), words, written)
    }

    #[test]
    fn a_reader_who_does_not_read_loses_lines_and_is_told_how_many() {
        let (output, words, written) = slow();
        let line = [[b'x'; 1023].as_slice(), b"\n"].concat();
        let firsts = (0..3 * 1024).filter(|_| output.write(&line)).count();
        assert_eq!(firsts, 1, "only the first lost line is one");
        output.flush(Instant::now() + Duration::from_millis(10));
        drop((0..3).map(|_| words.send(Ok(()))).collect::<Vec<_>>());
        let (mut kept, mut lost) = (0, 0);
        while kept + lost < 3 * 1024 {
            let text = written.recv_timeout(Duration::from_secs(10)).unwrap();
            match text.strip_prefix("lost ") {
                Some(number) => lost += number.trim().parse::<u64>().unwrap(),
                None => kept += count(text.as_bytes()),
            }
            // The note may stand between two batches or behind both.
            let _ = words.send(Ok(()));
        }
        assert!(lost >= 1024 && kept >= 1024, "{kept} {lost}");
    }

    #[test]
    fn lines_that_a_full_disk_refused_are_counted_once_it_has_room() {
        let (output, words, written) = slow();
        words.send(Err(ErrorKind::StorageFull.into())).unwrap();
        output.write(b"a\nb\n");
        output.flush(last_lines());
        drop((0..2).map(|_| words.send(Ok(()))).collect::<Vec<_>>());
        output.write(b"c\n");
        assert_eq!(written.recv_timeout(Duration::from_secs(10)).as_deref(), Ok("c\n"));
        assert_eq!(written.recv_timeout(Duration::from_secs(10)).as_deref(), Ok("lost 2\n"));
    }
}
