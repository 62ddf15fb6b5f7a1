//! A contender's processes: what they use, and their end.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Fallible;

/// A process and its children. Dropping it ends them.
pub struct Process {
    child: Child,
}

/// In a second: Linux tells processor time in these, whatever it counts in itself (proc(5)).
const TICKS: u64 = 100;
/// A process that was asked to end has so long.
const END: Duration = Duration::from_secs(10);

impl Process {
    /// Starts it; what it prints goes to a file, as a service's log does.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command, log: &Path) -> Fallible<Self> {
        let text = |error: std::io::Error| format!("{}: {error}", command.get_program().display());
        let file = File::create(log).map_err(text)?;
        let second = file.try_clone().map_err(text)?;
        command.stdin(Stdio::null()).stdout(second).stderr(file);
        let child =
            command.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        Ok(Self { child })
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Resident memory of all its processes, in KiB.
    #[must_use]
    pub fn resident(&self) -> u64 {
        self.family().iter().filter_map(|id| resident(*id)).sum()
    }

    /// Processor time of all its processes so far.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        let ticks: u64 = self.family().iter().filter_map(|id| Stat::of(*id)).map(|stat| stat.ticks).sum();
        Duration::from_millis(ticks * 1000 / TICKS)
    }

    fn family(&self) -> Vec<u32> {
        let parent = self.child.id();
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let children = ids.filter(|id| Stat::of(*id).is_some_and(|stat| stat.parent == parent));
        children.chain([parent]).collect()
    }
}

pub(crate) struct Stat {
    parent: u32,
    ticks: u64,
    /// By which the process is scheduled (sched(7)).
    pub(crate) policy: u64,
}

impl Stat {
    /// proc(5): behind the name, which may hold anything, stand state and parent; user and system
    /// time are eleven and twelve fields further on than the state, the policy 38.
    pub(crate) fn of(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(number(1)?).ok()?,
            ticks: number(11)? + number(12)?,
            policy: number(38)?,
        })
    }
}

fn resident(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

impl Drop for Process {
    /// By SIGTERM first: a killed master would leave its workers behind.
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let until = Instant::now() + END;
        while Instant::now() < until && !self.has_ended() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
