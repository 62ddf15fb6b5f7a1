//! The checks fail when they should: a case that holds, spoilt in one place at a time.

use std::fs;
use std::path::PathBuf;

use messageweave_lb_harness::case::{Case, Place, load_file};
use messageweave_lb_harness::driver::{Bare, Driver};

const CASE: &str = r#"
why = "a case that holds"
first = "https://a.example"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example", "https://b.example"]'
LB_REQUEST_TIMEOUT_MS = "400"
[[origin]]
url = "https://a.example"
script = [{ fault = "reset" }]
[[origin]]
url = "https://b.example"
script = [{ status = 200, headers = [["x-a", "1"], ["x-a", "2"]], fill_fields = 3, body = ["one", { pause_ms = 100 }, "two"] }]
[[step]]
[step.request]
method = "POST"
target = "/webhook/tg?x=1"
headers = [["x-b", "1"]]
body = "payload"
[step.answer]
status = 200
exact_headers = [["x-a", "1"], ["x-a", "2"], ["x-lb-backend", "https://b.example"], ["x-fill-0", "v"], ["x-fill-1", "v"], ["x-fill-2", "v"]]
absent = ["x-c"]
fill_fields = 3
body = "onetwo"
ends = "whole"
head_ms = { max = 50 }
whole_ms = { min = 100, max = 150 }
arrivals = [{ bytes = 3, max = 50 }, { bytes = 6, min = 100 }]
[[step.upstream]]
origin = "https://a.example"
method = "POST"
target = "/webhook/tg?x=1"
body = "payload"
[[step.upstream]]
origin = "https://b.example"
method = "POST"
target = "/webhook/tg?x=1"
exact_headers = [["host", "b.example"], ["x-b", "1"]]
absent = ["x-d"]
body = "payload"
framing = "content-length"
complete = "yes"
[log]
lines = ["attempt failed: POST /webhook/tg https://a.example reset"]
never = ["payload"]
"#;

#[test]
fn the_case_itself_holds() {
    assert_eq!(differences("whole", CASE).expect("a case"), Vec::<String>::new());
}

#[test]
fn every_spoilt_expectation_is_found() {
    for (index, (part, spoilt)) in [
        ("status = 200\nexact", "status = 201\nexact"),
        (
            "exact_headers = [[\"x-a\", \"1\"], [\"x-a\", \"2\"],",
            "exact_headers = [[\"x-a\", \"2\"], [\"x-a\", \"1\"],",
        ),
        ("[\"x-fill-1\", \"v\"], ", ""),
        ("absent = [\"x-c\"]", "absent = [\"X-A\"]"),
        ("fill_fields = 3\nbody", "fill_fields = 4\nbody"),
        ("body = \"onetwo\"", "body = \"onetwo!\""),
        ("ends = \"whole\"", "ends = \"broken\""),
        ("head_ms = { max = 50 }", "head_ms = { min = 50 }"),
        ("min = 100, max = 150", "min = 100, max = 99"),
        ("{ bytes = 3, max = 50 }", "{ bytes = 4, max = 50 }"),
        ("{ bytes = 6, min = 100 }", "{ bytes = 7 }"),
        ("origin = \"https://a.example\"", "origin = \"https://b.example\""),
        (
            "method = \"POST\"\ntarget = \"/webhook/tg?x=1\"\nexact",
            "method = \"GET\"\ntarget = \"/webhook/tg?x=1\"\nexact",
        ),
        ("target = \"/webhook/tg?x=1\"\nexact", "target = \"/webhook/tg\"\nexact"),
        ("[\"host\", \"b.example\"], ", ""),
        ("absent = [\"x-d\"]", "absent = [\"x-b\"]"),
        ("body = \"payload\"\nframing", "framing"),
        ("framing = \"content-length\"", "framing = \"chunked\""),
        ("complete = \"yes\"", "complete = \"no\""),
        ("lines = [\"attempt", "lines = [\"\", \"attempt"),
        ("never = [\"payload\"]", "never = [\"webhook\"]"),
        ("never = [\"payload\"]", "never = [\"onetwo\"]"),
        ("[{ fault = \"reset\" }]", "[{ fault = \"reset\" }, { status = 200 }]"),
        ("[{ fault = \"reset\" }]", "[]"),
        ("[{ fault = \"reset\" }]", "[{ fault = \"reset\", read_bytes = 3 }]"),
        ("script = [{ fault", "connect = \"refused\" #"),
        ("first = \"https://a.example\"", "first = \"https://b.example\""),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(CASE.contains(part), "{part} is not in the case");
        let text = CASE.replacen(part, spoilt, 1);
        match differences(&format!("spoilt-{index}"), &text) {
            Ok(found) => assert!(!found.is_empty(), "{spoilt} went unnoticed"),
            // Refused by the parser: noticed as well.
            Err(rule) => assert!(rule.contains("upstream"), "{spoilt}: {rule}"),
        }
    }
}

/// A step, and two that are sent together.
const PLACES: &str = r#"
why = "each difference stands in its place"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example"]'
LB_MAX_ATTEMPTS = "1"
[[origin]]
url = "https://a.example"
script = [{ status = 200 }, { status = 200 }]
[[step]]
request = { target = "/first" }
answer = { status = 404 }
[[step]]
request = { target = "/ready?2" }
answer = { status = 200 }
upstream = [{ origin = "https://a.example", method = "GET", target = "/ready?2" }]
[[step]]
with_previous = true
request = { target = "/ready?3" }
answer = { status = 200, absent = ["x-c"] }
upstream = [{ origin = "https://a.example", method = "GET", target = "/ready?3" }]
[log]
lines = []
"#;

#[test]
fn every_difference_stands_in_its_place() {
    assert_eq!(places("places", PLACES), Ok(Vec::new()));
    let step = |number| Some(Place::Step(number));
    for (index, (part, spoilt, found)) in [
        ("status = 404", "status = 405", step(1)),
        ("absent = [\"x-c\"]", "present = [\"x-c\"]", step(3)),
        ("method = \"GET\", target = \"/ready?3\"", "method = \"GET\", target = \"/ready?4\"", step(2)),
        ("{ status = 200 }]", "{ status = 200 }, { status = 200 }]", Some(Place::SCRIPT)),
        ("lines = []", "lines = [\"\"]", Some(Place::LOG)),
        ("lines = []", "never = [\"/first\"]", None),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(PLACES.contains(part), "{part} is not in the case");
        let text = PLACES.replacen(part, spoilt, 1);
        assert_eq!(places(&format!("places-{index}"), &text), Ok(vec![found]), "{spoilt}");
    }
    let beyond = PLACES.replacen("{ status = 200 }, { status = 200 }]", "{ status = 200 }]", 1);
    let beyond = places("beyond", &beyond).expect("a case");
    assert!(beyond.contains(&step(2)) && !beyond.contains(&step(1)), "{beyond:?}");
}

/// Where a case differs, each place once in a row.
fn places(name: &str, text: &str) -> Result<Vec<Option<Place>>, String> {
    let found = Bare::new().differences(&case(name, text)?);
    let mut places: Vec<_> = found.iter().map(|difference| difference.place).collect();
    places.dedup();
    Ok(places)
}

fn differences(name: &str, text: &str) -> Result<Vec<String>, String> {
    Ok(Bare::new().run(&case(name, text)?))
}

fn case(name: &str, text: &str) -> Result<Case, String> {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("checks");
    fs::create_dir_all(root.join("topic")).map_err(|error| error.to_string())?;
    let file = root.join("topic").join(format!("{name}.toml"));
    fs::write(&file, text).map_err(|error| error.to_string())?;
    load_file(&root, &file)
}
