//! The presets of limits that are shown are what they say, and a document that is read.

use messageweave_lb::policy::document::Policy;
use messageweave_lb::policy::limit::rule::KeyKind;

#[test]
fn the_presets_are_10_and_30_a_minute_per_address_and_120_per_user() {
    let shown = include_str!("../examples/limits.jsonc");
    let lines = shown.lines().filter(|line| !line.trim_start().starts_with("//"));
    let policy = Policy::read(&lines.collect::<Vec<_>>().join("\n")).unwrap();
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
