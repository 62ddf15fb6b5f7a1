//! The room for replay copies where requests share an instance. Each may keep a copy of its body
//! (contract 2.6); all of them together must not exhaust the memory that they share, which would
//! cost every one of them.
//!
//! Room is set aside when a request begins. What there is no room for is not kept: such a request
//! stays on the attempt that it is on from the byte for which there is none, as it does beyond
//! `LB_REPLAY_MAX_BYTES`.

use super::plan::Plan;
use super::upload::Framing;

/// The room that is left; a value that the shell keeps as long as its host keeps the instance.
#[derive(Debug)]
pub struct ReplayRoom(usize);

impl ReplayRoom {
    /// Room for so many bytes.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    /// Sets aside what the plan's copy may need, or what there is, and holds the plan to it. The
    /// bytes are to be [given back](Self::give_back).
    pub fn set_aside(&mut self, plan: &mut Plan<'_>) -> usize {
        let needed = match plan.framing {
            Framing::Empty => 0,
            Framing::Length => plan.replay_max_bytes.min(plan.content_length()),
            Framing::Unknown => plan.replay_max_bytes,
        };
        let granted = needed.min(self.0);
        self.0 -= granted;
        plan.replay_max_bytes = granted;
        granted
    }

    /// The request is over.
    pub const fn give_back(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::Policy;
    use super::super::headers::Headers;
    use super::super::settings::Settings;
    use super::*;

    fn plan<'s>(settings: &'s Settings, length: Option<&str>) -> Plan<'s> {
        let target = Policy::built_in().routes.of_record("/webhook/tg", "POST").unwrap();
        let mut headers = Headers::default();
        if let Some(length) = length {
            headers.set("content-length", length);
        }
        Plan::forward(settings, target, headers)
    }

    fn settings() -> Settings {
        Settings::from_vars(|name| (name == "LB_REPLAY_MAX_BYTES").then(|| "1000".to_owned()))
    }

    #[test]
    fn a_request_needs_no_more_room_than_its_body() {
        let settings = settings();
        for (length, needed) in [
            (Some("0"), 0),
            (Some("28"), 28),
            (Some("5000"), 1000),
            (Some("99999999999999999999999"), 1000),
            (None, 1000),
        ] {
            let mut room = ReplayRoom::new(10_000);
            assert_eq!(room.set_aside(&mut plan(&settings, length)), needed, "{length:?}");
        }
    }

    #[test]
    fn what_there_is_no_room_for_is_not_kept_until_another_request_is_over() {
        let settings = settings();
        let mut room = ReplayRoom::new(1500);
        let mut plans = [plan(&settings, None), plan(&settings, None), plan(&settings, None)];
        let granted = plans.each_mut().map(|plan| room.set_aside(plan));
        assert_eq!(granted, [1000, 500, 0]);
        assert_eq!(plans.map(|plan| plan.replay_max_bytes), granted);
        room.give_back(1000);
        assert_eq!(room.set_aside(&mut plan(&settings, None)), 1000);
    }
}
