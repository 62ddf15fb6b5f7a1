//! Which row takes a path, and what is sent for it.

use super::*;
use crate::policy::time::Millis;

const GET: Methods = Methods::only(Method::Get);

fn row(text: &str, methods: Methods) -> Route {
    let owned = Cow::Owned(text.to_owned());
    let matcher = if text.ends_with('/') { Matcher::Prefix(owned) } else { Matcher::Exact(owned) };
    Route { matcher, methods, bounds: Bounds::ORDINARY, limit: None }
}

fn routes(rows: &[&str]) -> Routes {
    Routes::new(rows.iter().map(|text| row(text, GET)).collect())
}

fn found<'a>(routes: &'a Routes, path: &'a str) -> Option<&'a str> {
    routes.find(path).map(|(route, _)| route.matcher.text())
}

#[test]
fn an_exact_path_beats_every_prefix_and_a_longer_prefix_a_shorter_one() {
    let routes = routes(&["/a/", "/a/b/c/", "/a/b", "/a/b/", "/", "/z/"]);
    for (path, expected) in [
        ("/", "/"),
        ("/a", "/"),
        ("/b", "/"),
        ("/a/x", "/a/"),
        ("/a/b", "/a/b"),
        ("/a/bb", "/a/"),
        ("/a/b/x", "/a/b/"),
        ("/a/b/c", "/a/b/"),
        ("/a/b/c/d", "/a/b/c/"),
        ("/a/b/d/c/d", "/a/b/"),
        ("/a/c/b", "/a/"),
        ("/z/a", "/z/"),
        ("/zz", "/"),
    ] {
        assert_eq!(found(&routes, path), Some(expected), "{path}");
    }
}

#[test]
fn the_longest_prefix_is_the_one_that_a_walk_over_all_would_find() {
    let parts = ["a", "b", "a.b", "a-b", "a0", "aa", "%20"];
    let mut prefixes = Vec::new();
    for (at, one) in parts.iter().enumerate() {
        prefixes.push(format!("/{one}/"));
        for (other_at, other) in parts.iter().enumerate().filter(|(other, _)| (at + other) % 2 == 0) {
            prefixes.push(format!("/{one}/{other}/"));
            prefixes.extend((other_at % 3 == 0).then(|| format!("/{one}/{other}/{one}/")));
        }
    }
    let routes = Routes::new(prefixes.iter().map(|text| row(text, GET)).collect());
    for one in parts {
        for other in parts {
            for third in parts {
                for path in
                    [format!("/{one}/{other}/{third}/x"), format!("/{one}/{other}"), format!("/{third}")]
                {
                    let expected = prefixes
                        .iter()
                        .filter(|prefix| path.starts_with(*prefix))
                        .max_by_key(|prefix| prefix.len());
                    assert_eq!(found(&routes, &path), expected.map(String::as_str), "{path}");
                }
            }
        }
    }
}

#[test]
fn a_path_that_fails_the_fence_has_no_route() {
    let routes = routes(&["/a/", "/a/b/"]);
    for path in ["/a/", "/a/../b", "/a/b//c", "/a/%2e", "/a/b/\\", "/b"] {
        assert_eq!(routes.look_up(path, None, "GET"), Lookup::Unknown, "{path}");
    }
}

#[test]
fn the_row_that_was_found_decides_about_the_method() {
    let all = Method::ALL.into_iter().fold(Methods::default(), Methods::and);
    let routes = Routes::new(vec![row("/", all), row("/a/", GET), row("/a/b", Methods::only(Method::Put))]);
    for method in Method::ALL.map(Method::as_str).into_iter().chain(["TRACE", "get", ""]) {
        let found = |path| matches!(routes.look_up(path, None, method), Lookup::Found(_));
        assert_eq!(found("/a/b"), method == "PUT", "{method}");
        assert_eq!(found("/a/x"), method == "GET", "{method}");
        assert_eq!(found("/x"), Method::named(method).is_some(), "{method}");
    }
    assert_eq!(routes.look_up("/a/b", None, "GET"), Lookup::OtherMethod(Methods::only(Method::Put)));
}

#[test]
fn what_is_sent_is_the_literal_or_the_path_as_received_and_the_query_as_received() {
    let routes = routes(&["/ready", "/a/"]);
    for (path, query, expected) in [
        ("/ready", None, "/ready"),
        ("/ready", Some(""), "/ready?"),
        ("/ready", Some("a=1&b=%20?"), "/ready?a=1&b=%20?"),
        ("/a/%E4%bd%A0;x", Some("../.."), "/a/%E4%bd%A0;x?../.."),
    ] {
        let Lookup::Found(target) = routes.look_up(path, query, "GET") else { panic!("{path}") };
        assert_eq!((target.path(), target.path_with_query()), (path, expected));
    }
}

#[test]
fn a_target_has_the_bounds_and_the_limit_of_its_route() {
    let bounds = Bounds { timeout: super::super::route::Timeout::Own(Millis(7)), ..Bounds::ORDINARY };
    let routes = Routes::new(vec![Route { bounds, limit: Some(3), ..row("/a/", GET) }, row("/b/", GET)]);
    let target = routes.of_record("/a/x?y", "GET").unwrap();
    assert_eq!((target.bounds(), target.limit()), (bounds, Some(3)));
    let target = routes.of_record("/b/x", "GET").unwrap();
    assert_eq!((target.bounds(), target.limit()), (Bounds::ORDINARY, None));
    assert_eq!(routes.of_record("/b/x", "PUT"), None);
}

#[test]
fn a_health_probe_needs_no_route() {
    assert_eq!(Target::health_probe().path_with_query(), "/healthz");
}

#[test]
fn no_spelling_of_a_path_gets_around_its_row() {
    let routes = routes(&["/feeds/", "/feeds/refresh", "/feeds/slow/", "/feeds/slow/er/"]);
    let row = |path: &str| routes.route_of(path).map(|route| route.matcher.text().to_owned());
    for around in [
        "/feeds/%72efresh",
        "/feeds/refresh;x",
        "/feeds/refresh;",
        "/feeds/refres%68;x=1",
        "/feeds/refresh%3bx",
        "/feeds/%73low/x",
        "/feeds/slow;v=1/x",
        "/feeds/slow/%65r/x",
        "/feeds/slow;/er/x",
        "/feeds/slow/er;%3b/x",
    ] {
        assert_eq!(row(around), None, "{around}");
    }
    for (path, expected) in [
        ("/feeds/%61", "/feeds/"),
        ("/feeds/refresh/x", "/feeds/"),
        ("/feeds/refresh%20", "/feeds/"),
        ("/feeds/Refresh;x", "/feeds/"),
        ("/feeds/slow/%61;v=1", "/feeds/slow/"),
        ("/feeds/slow/%65rr", "/feeds/slow/"),
    ] {
        assert_eq!(row(path).as_deref(), Some(expected), "{path}");
    }
}

#[test]
fn a_row_may_be_spelt_oddly_itself_and_has_that_spelling_alone() {
    let routes = routes(&["/", "/a%E4", "/b%62", "/c;v=1/"]);
    let row = |path: &str| routes.route_of(path).map(|route| route.matcher.text().to_owned());
    for (path, expected) in [
        ("/a%E4", Some("/a%E4")),
        ("/a%e4", None),
        ("/%61%E4", None),
        ("/b%62", Some("/b%62")),
        ("/bb", None),
        ("/bbb", Some("/")),
        ("/c;v=1/x", Some("/c;v=1/")),
        ("/c;v=2/x", None),
        ("/c/x", None),
        ("/c;v=1", Some("/")),
    ] {
        assert_eq!(row(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn no_spelling_reaches_the_balancers_own_endpoint_behind_a_prefix() {
    let routes = routes(&["/"]);
    for path in ["/%68ealthz-worker", "/healthz-worker;x", "/healthz%2dworker"] {
        assert_eq!(routes.look_up(path, None, "GET"), Lookup::Unknown, "{path}");
    }
    assert!(matches!(routes.look_up("/healthz-workers", None, "GET"), Lookup::Found(_)));
}
