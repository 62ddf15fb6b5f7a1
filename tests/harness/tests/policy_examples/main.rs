//! The policy documents that are shown, and the schema: what they say is what the parser reads.

#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod documents;

use documents::{BAD, By, GOOD};
use messageweave_lb::policy::document::Policy;
use messageweave_lb::policy::limit::rule::KeyKind;
use messageweave_lb::policy::route::{Attempts, Route, Timeout};
use messageweave_lb::policy::settings::Settings;
use messageweave_lb_harness::schema::Schema;

const MESSAGEWEAVE: &str = include_str!("../../../../examples/messageweave.jsonc");
const FEEDS: &str = include_str!("../../../../examples/feeds.jsonc");
const LIMITS: &str = include_str!("../../../../examples/limits.jsonc");

/// As the examples tell their reader to do it.
fn without_comments(shown: &str) -> String {
    let lines = shown.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn schema() -> Schema {
    Schema::read(include_str!("../../../../examples/policy.schema.json")).unwrap()
}

#[test]
fn every_example_is_read_and_fits_the_schema() {
    let schema = schema();
    for shown in [MESSAGEWEAVE, FEEDS, LIMITS] {
        let text = without_comments(shown);
        assert_eq!(Policy::read(&text).map(|_| ()), Ok(()), "{text}");
        assert_eq!(schema.faults(&text), Ok(Vec::new()));
    }
}

#[test]
fn the_built_in_routes_as_a_document_are_the_built_in_routes() {
    let shown = Policy::read(&without_comments(MESSAGEWEAVE)).unwrap();
    let settings = Settings::from_vars(|_| None);
    // What the built-in long jobs take from variables, the document says itself.
    let own = |route: &Route| {
        let mut route = route.clone();
        route.bounds.timeout = match route.bounds.timeout {
            Timeout::Reconcile => Timeout::Own(settings.reconcile_timeout),
            Timeout::Worker => Timeout::Own(settings.worker_timeout),
            other => other,
        };
        route
    };
    let built_in: Vec<_> = Policy::built_in().routes.iter().map(own).collect();
    assert_eq!(shown.routes.iter().cloned().collect::<Vec<_>>(), built_in);
    assert!(shown.limits.is_empty());
}

#[test]
fn the_presets_are_10_and_30_a_minute_per_address_and_120_per_user() {
    let policy = Policy::read(&without_comments(LIMITS)).unwrap();
    let presets: Vec<_> = policy
        .limits
        .iter()
        .map(|limit| (limit.name.as_str(), limit.key, limit.limit.get(), limit.window_s.get()))
        .collect();
    let expected = [
        ("sign-in", KeyKind::Ip, 10, 60),
        ("token-refresh", KeyKind::Ip, 30, 60),
        ("api", KeyKind::User, 120, 60),
    ];
    assert_eq!(presets, expected);
}

#[test]
fn what_a_route_does_not_say_it_takes_from_the_variables() {
    let policy = Policy::read(&without_comments(FEEDS)).unwrap();
    let of = |path: &str| policy.routes.route_of(path).unwrap().bounds;
    assert_eq!((of("/").timeout, of("/").attempts), (Timeout::Request, Attempts::Configured));
    assert_eq!(of("/feeds/x").attempts, Attempts::Own(3.try_into().unwrap()));
    assert_eq!(of("/feeds/slow/x").attempts, Attempts::Own(1.try_into().unwrap()));
}

#[test]
fn schema_and_parser_take_the_same_documents() {
    let schema = schema();
    for text in GOOD {
        assert_eq!(Policy::read(text).map(|_| ()), Ok(()), "{text}");
        assert_eq!(schema.faults(text), Ok(Vec::new()), "{text}");
    }
    for (text, _, by) in BAD {
        assert!(Policy::read(text).is_err(), "{text}");
        assert_eq!(schema.faults(text).unwrap().is_empty(), *by == By::ParserAlone, "{text}");
    }
}

#[test]
fn every_fault_of_a_document_names_its_place() {
    for (text, place, _) in BAD {
        let faults: Vec<_> = Policy::read(text).unwrap_err().iter().map(ToString::to_string).collect();
        let expected = format!("LB_POLICY_JSON{place}: ");
        assert!(faults.iter().any(|fault| fault.starts_with(&expected)), "{text}: {faults:?}");
    }
}

#[test]
fn all_faults_of_a_document_are_told_at_once_and_none_repeats_its_text() {
    let text = r#"{"version":3,"hunter2":1,"routes":[{"path":"/hunter2//","methods":["HUNTER2"],"timeout_ms":0},
        {"path":"/a","methods":["GET"],"limit":"hunter2"}],"limits":{"x":{"key":"hunter2","limit":0,"window_s":1}}}"#;
    let faults: Vec<_> = Policy::read(text).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 8, "{faults:#?}");
    assert!(faults.iter().all(|fault| !fault.to_lowercase().contains("hunter2")), "{faults:#?}");
}

/// A document of so many routes and limits, whose last route has this path.
fn document(routes: usize, limits: usize, path: &str) -> String {
    let row = |path: &str| format!(r#"{{"path":"{path}","methods":["GET"]}}"#);
    let rows = (1..routes).map(|number| row(&format!("/{number}"))).chain([row(path)]);
    let limits = (0..limits).map(|number| format!(r#""x{number}":{{"key":"ip","limit":1,"window_s":1}}"#));
    let [rows, limits] = [rows.collect::<Vec<_>>(), limits.collect()].map(|entries| entries.join(","));
    format!(r#"{{"version":1,"routes":[{rows}],"limits":{{{limits}}}}}"#)
}

fn faults(text: &str) -> Vec<String> {
    Policy::read(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn a_document_is_read_up_to_its_bounds_and_no_further() {
    let schema = schema();
    let path = |length: usize| format!("/{}", "a".repeat(length - 1));
    for (good, bad, fault) in [
        (document(4096, 0, "/a"), document(4097, 0, "/a"), ".routes: must be an array of 1 to 4096 routes"),
        (document(1, 256, "/a"), document(1, 257, "/a"), ".limits: must be at most 256 limits"),
        (
            document(1, 0, &path(2048)),
            document(1, 0, &path(2049)),
            ".routes[0].path: a path has at most 2048 bytes",
        ),
    ] {
        assert_eq!(faults(&good), Vec::<String>::new());
        assert_eq!(schema.faults(&good), Ok(Vec::new()));
        assert_eq!(faults(&bad), [format!("LB_POLICY_JSON{fault}")]);
        assert!(!schema.faults(&bad).unwrap().is_empty(), "{fault}");
    }
    // Text that is no part of a path: no schema sees it.
    let padded = |length: usize| {
        let document = document(1, 0, "/a");
        [" ".repeat(length - document.len()), document].concat()
    };
    assert_eq!(faults(&padded(1024 * 1024)), Vec::<String>::new());
    assert_eq!(faults(&padded(1024 * 1024 + 1)), ["LB_POLICY_JSON: must be at most 1048576 bytes long"]);
}

#[test]
fn a_prefix_leaves_room_for_one_byte_behind_it() {
    let prefix = |length: usize| {
        let prefix = format!("/{}/", "a".repeat(length - 2));
        format!(r#"{{"version":1,"routes":[{{"prefix":"{prefix}","methods":["GET"]}}]}}"#)
    };
    assert_eq!(faults(&prefix(2047)), Vec::<String>::new());
    assert_eq!(faults(&prefix(2048)), ["LB_POLICY_JSON.routes[0].prefix: a path has at most 2048 bytes"]);
}

#[test]
fn each_of_several_equal_paths_names_the_first() {
    let row = r#"{"path":"/a","methods":["GET"]}"#;
    let text = format!(r#"{{"version":1,"routes":[{row},{row},{row}]}}"#);
    let fault = |index: usize| {
        format!(
            "LB_POLICY_JSON.routes[{index}].path: the same as in routes[0]; one route names all methods of a path"
        )
    };
    assert_eq!(faults(&text), [fault(1), fault(2)]);
}

#[test]
fn limits_that_cannot_be_read_put_no_route_at_fault() {
    let row = r#"[{"path":"/a","methods":["GET"],"limit":"x"}]"#;
    let text = format!(r#"{{"version":1,"routes":{row},"limits":[]}}"#);
    assert_eq!(faults(&text), ["LB_POLICY_JSON.limits: must be an object"]);
}
