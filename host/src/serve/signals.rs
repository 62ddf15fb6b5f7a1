//! SIGHUP reloads; the first SIGINT or SIGTERM stops accepting and lets requests finish within their
//! clocks, the second ends at once.

use std::io;
use std::process::exit;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Host;
use super::reload::Source;
use crate::journal::{self, Level};

pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// How shells report a process that a signal ended.
const ENDED_BY_SIGNAL: i32 = 128;

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Until every connection has ended after the first request to stop, or has had its time.
    pub(super) async fn obey(&mut self, host: &Arc<Host>, source: Source) {
        let reloads = source.reload_when_told(host);
        let Self { interrupt, terminate, hangup } = self;
        loop {
            tokio::select! {
                // One that waits reads what this one would.
                _ = hangup.recv() => drop(reloads.try_send(())),
                _ = end(interrupt, terminate) => break,
            }
        }
        journal::say(Level::Info, &"stopping, requests in flight finish; once more to end at once");
        host.stop.say();
        let all = host.limits().max_connections.get();
        tokio::select! {
            _ = host.places.acquire_many(all) => {}
            () = tokio::time::sleep_until(host.patience.end()) => {
                let left = all.saturating_sub(u32::try_from(host.places.available_permits()).unwrap_or(all));
                journal::say(Level::Warn, &format_args!("not ended in time, and cut: {left} connections"));
            }
            signal = end(interrupt, terminate) => {
                host.told.flush();
                exit(ENDED_BY_SIGNAL + signal.as_raw_value())
            }
        }
    }
}

async fn end(interrupt: &mut Signal, terminate: &mut Signal) -> SignalKind {
    tokio::select! {
        _ = interrupt.recv() => SignalKind::interrupt(),
        _ = terminate.recv() => SignalKind::terminate(),
    }
}
