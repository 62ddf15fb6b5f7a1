//! What the variables mean, and what is said about those that are bad.

use super::*;
use std::num::NonZeroU32;

const fn clock(timeout: Timeout) -> Bounds {
    Bounds { timeout, ..Bounds::ORDINARY }
}

fn settings(vars: &[(&str, &str)]) -> Settings {
    Settings::from_vars(|name| {
        let found = vars.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn errors(settings: &Settings) -> Vec<String> {
    settings.errors().iter().map(ToString::to_string).collect()
}

#[test]
fn defaults_apply_when_only_origins_are_set() {
    let settings = settings(&[(BACKEND_ORIGINS_JSON, r#"["https://a.example"]"#)]);
    assert_eq!(settings.errors(), []);
    assert_eq!(settings.request_timeout, Millis(10_000));
    assert_eq!(settings.max_attempts, 2);
    assert_eq!(settings.timeout(clock(Timeout::Reconcile)), Millis(320_000));
    assert_eq!(settings.timeout(clock(Timeout::Worker)), Millis(300_000));
    assert_eq!(settings.policy, Some(Policy::built_in()));
    assert_eq!(settings.health_ttl, Millis(30_000));
    assert_eq!(settings.version, "unknown");
    assert!(!settings.trust_forwarded_proto);
    assert_eq!(settings.replay_max_bytes, 1_048_576);
}

#[test]
fn duplicates_are_dropped_and_the_order_is_kept() {
    let json = r#"["https://b.example","https://a.example/","https://B.example:443"]"#;
    let settings = settings(&[(BACKEND_ORIGINS_JSON, json)]);
    let origins: Vec<_> = settings.origins().iter().map(Origin::as_str).collect();
    assert_eq!(origins, ["https://b.example", "https://a.example"]);
}

#[test]
fn every_bad_entry_is_named_by_index_and_rule_without_its_text() {
    let json = r#"["https://a.example", {"url":"https://b.example"}, "https://user:pw@c.example", 7]"#;
    let settings = settings(&[(BACKEND_ORIGINS_JSON, json)]);
    assert_eq!(settings.backends, Backends::Misconfigured);
    assert_eq!(settings.origins(), []);
    assert_eq!(
        errors(&settings),
        [
            "BACKEND_ORIGINS_JSON[1]: an origin is a JSON string",
            "BACKEND_ORIGINS_JSON[2]: an origin carries no credentials",
            "BACKEND_ORIGINS_JSON[3]: an origin is a JSON string",
        ]
    );
}

#[test]
fn unset_blank_and_empty_lists_are_told_from_bad_ones() {
    for json in ["", "  ", "[]", "[ ]"] {
        let settings = settings(&[(BACKEND_ORIGINS_JSON, json)]);
        assert_eq!(settings.backends, Backends::Unset, "{json:?}");
        assert_eq!(settings.errors().len(), 1);
    }
    for json in ["{", "\"https://a.example\"", "{}", "null", "1", "[\"\"]", "[null]"] {
        let settings = settings(&[(BACKEND_ORIGINS_JSON, json)]);
        assert_eq!(settings.backends, Backends::Misconfigured, "{json:?}");
        assert_eq!(settings.errors().len(), 1);
    }
    assert_eq!(settings(&[]).backends, Backends::Unset);
}

#[test]
fn a_bad_number_takes_the_default_and_is_an_error() {
    let settings = settings(&[
        (BACKEND_ORIGINS_JSON, r#"["https://a.example"]"#),
        (LB_REQUEST_TIMEOUT_MS, "10s"),
        (LB_MAX_ATTEMPTS, "0"),
        (LB_HEALTH_TTL_MS, " 1.5e3 "),
        (LB_WORKER_TIMEOUT_MS, ""),
    ]);
    assert_eq!(settings.request_timeout, Millis(10_000));
    assert_eq!(settings.max_attempts, 2);
    assert_eq!(settings.health_ttl, Millis(1500));
    assert_eq!(
        errors(&settings),
        [
            "LB_REQUEST_TIMEOUT_MS: must be a decimal number of at least 1; the default 10000 applies",
            "LB_MAX_ATTEMPTS: must be a decimal number of at least 1; the default 2 applies",
        ]
    );
}

#[test]
fn only_1_and_true_switch_on() {
    for (text, on, faults) in [
        ("1", true, 0),
        ("true", true, 0),
        ("", false, 0),
        ("0", false, 0),
        ("false", false, 0),
        ("TRUE", false, 1),
        ("yes", false, 1),
        (" 1", false, 1),
    ] {
        let origins = (BACKEND_ORIGINS_JSON, r#"["https://a.example"]"#);
        let settings = settings(&[origins, (LB_TRUST_FORWARDED_PROTO, text)]);
        assert_eq!((settings.trust_forwarded_proto, settings.errors().len()), (on, faults), "{text:?}");
    }
}

#[test]
fn attempts_never_exceed_the_origins_and_a_route_may_have_its_own() {
    let json = r#"["https://a.example","https://b.example"]"#;
    let settings = settings(&[(BACKEND_ORIGINS_JSON, json), (LB_MAX_ATTEMPTS, "9")]);
    let own = |attempts| Bounds { attempts: Attempts::Own(attempts), ..Bounds::ORDINARY };
    assert_eq!(settings.attempts(Bounds::ORDINARY), 2);
    assert_eq!(settings.attempts(own(NonZeroU32::MIN)), 1);
    assert_eq!(settings.attempts(own(NonZeroU32::MAX)), 2);
}

#[test]
fn a_document_replaces_the_built_in_policy_and_a_bad_one_leaves_none() {
    let document = r#"{"version":1,"routes":[{"path":"/x","methods":["GET"],"timeout_ms":5}]}"#;
    let with = |document: &str| settings(&[(LB_POLICY_JSON, document)]);
    let policy = with(document).policy.unwrap();
    assert!(policy.routes.of_record("/x", "GET").is_some());
    assert!(policy.routes.of_record("/ready", "GET").is_none());
    let bad = with("{}");
    assert_eq!(bad.policy, None);
    assert_eq!(bad.errors_of(LB_POLICY_JSON).count(), 2);
    for blank in ["", " \n"] {
        assert_eq!(with(blank).policy, Some(Policy::built_in()));
    }
}

#[test]
fn an_empty_version_is_unknown() {
    assert_eq!(settings(&[(LB_VERSION, "")]).version, "unknown");
    assert_eq!(settings(&[(LB_VERSION, "2026-11")]).version, "2026-11");
}

#[test]
fn every_variable_shapes_what_is_rendered_but_the_origins_and_what_only_answers_say() {
    for name in VARIABLES {
        let of = |value: &str| fingerprint(|asked| (asked == *name).then(|| value.to_owned()));
        let is_left_out = [BACKEND_ORIGINS_JSON, LB_VERSION, LB_HEALTH_TTL_MS].contains(name);
        assert_eq!(of("1") == of("2"), is_left_out, "{name}");
        assert_eq!(of(" "), of(""), "{name}: a blank value is none");
    }
}
