//! Counts the calls of a component to the host's functions: the library opens a span for each.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// What a future brings, and how often each function was called for it.
pub(crate) async fn counted<T>(future: impl Future<Output = T>) -> (T, BTreeMap<String, usize>) {
    let counts = Counts::default();
    let output = future.with_subscriber(Counter(Arc::clone(&counts))).await;
    let counts = counts.lock().unwrap().clone();
    (output, counts)
}

struct Counter(Counts);

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.name() == "wit-bindgen import"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut name = Name::default();
        span.record(&mut name);
        *self.0.lock().unwrap().entry(name.0.join(" ")).or_default() += 1;
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Interface and function.
#[derive(Default)]
struct Name(Vec<String>);

impl Visit for Name {
    fn record_str(&mut self, _: &Field, value: &str) {
        self.0.push(value.to_owned());
    }

    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        self.0.push(format!("{value:?}"));
    }
}
