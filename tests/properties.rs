//! The invariants over random inputs, and over the seeds from which the fuzz targets start.
#![allow(clippy::disallowed_methods, reason = "seeds are files; the policy itself reads none")]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod invariants;

use invariants::{LocationDifference, OriginDifference, whatwg_location, whatwg_origin};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_origin_has_one_canonical_form(text in r"(https?://)?[a-zA-Z0-9.:@/\\\[\]%#? \u{fc}\u{3002}\u{ff11}-]{0,40}") {
        invariants::origin(text.as_bytes());
    }

    #[test]
    fn an_origin_is_what_the_url_standard_says_but_for_the_listed_differences(
        text in r"[ \u{3000}]?((https?|HTTPS):/?/?/?)?[a-zA-Z0-9.:@/\\\[\]%#? \u{fc}\u{3002}\u{ff11}!-]{0,40}",
    ) {
        invariants::whatwg_origin(text.as_bytes());
    }

    #[test]
    fn a_redirect_leads_where_the_url_standard_says_but_for_the_listed_differences(
        current in 0_u8..5,
        location in r" ?(https?:)?(//)?(localhost|a.example|b.example:8443|127.1|\[[0-9a-f:.]{0,16}\]|[0-9.x]{0,10})?[/a-z?#%@:\\. ]{0,10}",
    ) {
        invariants::whatwg_location(&[&[current], location.as_bytes()].concat());
    }

    #[test]
    fn only_what_a_route_takes_is_forwarded(
        request in r"(GET|PUT|POST|[a-zA-Z]{0,5}) (/ready|/worker|/|/api/config|/healthz-worker)?[/.?#%a-z0-9]{0,8}",
        connection in r"(https?|other) ?[a-zA-Z0-9.:@%\[\]]{0,12}",
        origins in r#"(\["https://a.example"\]|\["https://a","https://b"\]|[\[\]{}",a-z:/]{0,10})"#,
        variables in r#"(LB_TRUST_FORWARDED_PROTO=[01]|LB_MAX_ATTEMPTS=[0-9]{0,3}| |LB_POLICY_JSON=\{"version":1,"routes":\[\{"prefix":"/","methods":\["GET"\]\},\{"path":"/ready","methods":\["PUT"\]\}\]\}|LB_POLICY_JSON=[a-z{}]{0,3})"#,
        fields in "((host|connection|x-forwarded-proto|cookie|te|spin-a|content-length): ?[a-z0-9,]{0,8}\n){0,5}",
    ) {
        invariants::request_head([request, connection, origins, variables, fields].join("\n").as_bytes());
    }

    #[test]
    fn a_path_finds_its_row_and_passes_the_fence_or_has_no_route(
        path in r"(/(a|b|a/b|feeds))?(/[a-c.%;\\]{0,4}|/%[0-9a-fA-F]{1,2}|//|/[\x00-\x7f\u{80}-\u{ff}]{0,2}){0,4}",
        method in "(GET|HEAD|PUT|TRACE)",
        prefixes in vec("(|a/|b/|a/b/|a/b/c/|feeds/)", 1..5),
        exact in vec("(a|b|a/b|a/b/c)", 0..4),
    ) {
        let prefixes = prefixes.iter().map(|text| format!(r#"{{"prefix":"/{text}","methods":["GET","HEAD"]}}"#));
        let exact = exact.iter().map(|text| format!(r#"{{"path":"/{text}","methods":["PUT"]}}"#));
        let rows: BTreeSet<_> = prefixes.chain(exact).collect();
        let rows = rows.into_iter().collect::<Vec<_>>().join(",");
        let document = format!(r#"{{"version":1,"routes":[{rows}]}}"#);
        invariants::policy(format!("{path}\n{method}\n{document}").as_bytes());
    }

    #[test]
    fn a_document_is_read_or_refused_whatever_it_holds(
        document in r#"[{]"version":[12],"routes":[\[{]"?(path|prefix|methods|limit)?"?:?"?[/a-z.%]{0,4}"?[,\]}"]{0,3}(,"limits":[{]"[a-z]?":[{]"(key|limit)":"?(ip|1)?"?[}]{0,3})?[\]}]{0,3}"#,
    ) {
        invariants::policy(format!("/a\nGET\n{document}").as_bytes());
    }

    #[test]
    fn a_redirect_leads_only_where_it_may(
        shape in vec(any::<u8>(), 3),
        location in r"(https?:)?(//)?(localhost|a.example|b.example:8443|127.1|\[::1\]|[0-9.x]{0,10})?[/a-z?#%@:\\. ]{0,10}",
    ) {
        invariants::location(&[shape.as_slice(), location.as_bytes()].concat());
    }

    #[test]
    fn the_address_is_the_one_from_the_right(
        hops in 0_u8..4,
        lines in r"((([0-9]{1,3}\.){3}[0-9]{1,3}|\[?(::ffff:)?[0-9a-f:.]{2,20}\]?|unknown|)(%[a-z0-9]{0,3})?(:[0-9]{1,5})?[, \n]{0,2}){0,5}",
    ) {
        invariants::client_address(&[&[hops], lines.as_bytes()].concat());
    }

    #[test]
    fn a_limiter_counts_every_request_whatever_the_clock_does(requests in vec(any::<u8>(), 0..400)) {
        invariants::limit(&requests);
    }

    #[test]
    fn an_exchange_keeps_every_rule_whatever_happens(events in vec(any::<u8>(), 0..400)) {
        invariants::exchange(&events);
    }
}

#[test]
fn every_seed_of_the_fuzz_targets_keeps_the_invariants() {
    for (target, check) in [
        ("origin", invariants::origin as fn(&[u8])),
        ("request_head", invariants::request_head),
        ("location", invariants::location),
        ("exchange", invariants::exchange),
        ("policy", invariants::policy),
        ("whatwg_origin", |seed| {
            let _ = whatwg_origin(seed);
        }),
        ("whatwg_location", |seed| {
            let _ = whatwg_location(seed);
        }),
        ("client_address", invariants::client_address),
        ("limit", invariants::limit),
    ] {
        let seeds = seeds(target);
        assert!(seeds.len() >= 5, "{target} starts from too little");
        seeds.iter().for_each(|seed| check(seed));
    }
}

#[test]
fn every_difference_from_the_url_standard_is_met_by_a_seed_and_listed_with_its_reason() {
    let met: BTreeSet<_> = seeds("whatwg_origin").iter().filter_map(|seed| whatwg_origin(seed)).collect();
    assert_eq!(met, OriginDifference::ALL.into());
    let mut names: Vec<_> = met.iter().map(|difference| format!("`{difference:?}`")).collect();
    let met: BTreeSet<_> = seeds("whatwg_location").iter().filter_map(|seed| whatwg_location(seed)).collect();
    assert_eq!(met, LocationDifference::ALL.into());
    names.extend(met.iter().map(|difference| format!("`{difference:?}`")));
    let readme = include_str!("../fuzz/README.md");
    let listed = readme.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut listed: Vec<_> =
        listed.map(|(name, _)| format!("`{name}`")).filter(|name| is_variant(name)).collect();
    names.sort();
    listed.sort();
    assert_eq!(listed, names, "fuzz/README.md");
}

/// Names of differences are capitalised, those of targets are not.
fn is_variant(name: &str) -> bool {
    name.trim_matches('`').starts_with(|first: char| first.is_ascii_uppercase())
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}
