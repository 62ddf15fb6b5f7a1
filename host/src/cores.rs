//! The threads that requests live on, one per core. A connection stays on the one that it was given to, and
//! so does all that is done for it: a request that goes back and forth between threads costs more in waking
//! them than in work. What an instance keeps in mind is no thread's own, nor is a bound on all of them.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

use crate::load::Load;

/// What is given to tasks and calls of the system that are still under way at the end.
const LEFTOVERS: Duration = Duration::from_secs(1);

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of the thread that asks, from 0.
pub(crate) fn this() -> usize {
    NUMBER.get()
}

/// Their event loops.
#[derive(Clone)]
pub(crate) struct Cores(Arc<[Core]>);

struct Core {
    handle: Handle,
    /// A share for each connection.
    load: Load,
}

impl Cores {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Runs it on that one.
    pub(crate) fn spawn(&self, core: usize, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(core) = self.0.get(core) {
            core.handle.spawn(work);
        }
    }

    /// Runs it on the one that has the fewest connections, of several on the first: one client after another meets
    /// the same open connections to origins.
    pub(crate) fn serve(&self, connection: impl Future<Output = ()> + Send + 'static) {
        if let Some(core) = self.0.iter().min_by_key(|core| core.load.weight()) {
            let share = core.load.share();
            core.handle.spawn(async move {
                connection.await;
                drop(share);
            });
        }
    }
}

/// Runs this to its end on the first of so many.
pub(crate) fn run<T, F: Future<Output = T>>(
    count: NonZeroUsize,
    work: impl FnOnce(Cores) -> F,
) -> io::Result<T> {
    let first = runtime()?;
    let (end, ended) = watch::channel(());
    let others = (1..count.get()).map(|number| Other::start(number, ended.clone()));
    let others = others.collect::<io::Result<Vec<_>>>()?;
    let handles = [first.handle()].into_iter().chain(others.iter().map(|other| &other.handle));
    let cores = handles.map(|handle| Core { handle: handle.clone(), load: Load::default() });
    let done = first.block_on(work(Cores(cores.collect())));
    drop(end);
    // Nobody waits for a name that is still being resolved.
    first.shutdown_timeout(LEFTOVERS);
    for other in others {
        // It has told of its panic itself.
        let _ = other.thread.join();
    }
    Ok(done)
}

struct Other {
    handle: Handle,
    thread: JoinHandle<()>,
}

impl Other {
    fn start(number: usize, mut ended: watch::Receiver<()>) -> io::Result<Self> {
        let runtime = runtime()?;
        let handle = runtime.handle().clone();
        let run = move || {
            NUMBER.set(number);
            // Nothing is ever sent: the end of the sender is the message.
            let _ = runtime.block_on(ended.changed());
            runtime.shutdown_timeout(LEFTOVERS);
        };
        Ok(Self { handle, thread: thread::Builder::new().name(format!("core-{number}")).spawn(run)? })
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
