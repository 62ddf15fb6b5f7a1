//! Routes as data: which path and method are forwarded, and as what (contract 2.3).
//!
//! An exact path beats every prefix, a longer prefix beats a shorter one; and what was found decides
//! alone: another method is `405`, whatever another row would say. A path is never normalised into a
//! match. Finding costs a binary search, however many routes there are.

use super::fence::{Fenced, meaning};
use super::method::{Method, Methods};
use super::route::{Bounds, Matcher, Route};
use super::safelist::HEALTH_PATH;
use std::borrow::Cow;

/// The routes of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    /// Sorted by path.
    exact: Cow<'static, [Route]>,
    /// Sorted by prefix.
    prefixes: Vec<Prefix>,
    /// The rows by what their paths mean; none where no row is a prefix.
    meant: Option<Box<Self>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Prefix {
    route: Route,
    /// The place of the longest other prefix that this one starts with.
    shorter: Option<usize>,
}

/// What the routes say of a path and a method.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Forwarded: what is sent.
    Found(Target),
    /// A known path with another method: `405`.
    OtherMethod(Methods),
    /// No route: `404`.
    Unknown,
}

impl Routes {
    /// The routes of a table of exact paths that is sorted already.
    #[must_use]
    pub(super) const fn of_sorted(exact: &'static [Route]) -> Self {
        Self { exact: Cow::Borrowed(exact), prefixes: Vec::new(), meant: None }
    }

    /// The routes of rows in any order. Of two for the same paths only one would be found.
    #[must_use]
    pub(super) fn new(rows: Vec<Route>) -> Self {
        let mut meant = Vec::new();
        if rows.iter().any(|row| matches!(row.matcher, Matcher::Prefix(_))) {
            let matchers = rows.iter().map(|row| row.matcher.meant());
            meant.extend(matchers.zip(&rows).map(|(matcher, row)| Route { matcher, ..*row }));
        }
        let mut routes = Self::sorted(rows);
        if !meant.is_empty() {
            routes.meant = Some(Box::new(Self::sorted(meant)));
        }
        routes
    }

    fn sorted(rows: Vec<Route>) -> Self {
        let (mut exact, mut prefixes): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|route| matches!(route.matcher, Matcher::Exact(_)));
        exact.sort_unstable_by(by_text);
        prefixes.sort_unstable_by(by_text);
        Self { exact: Cow::Owned(exact), prefixes: nest(prefixes), meant: None }
    }

    /// The rows: exact ones first, each kind sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.exact.iter().chain(self.prefixes.iter().map(|prefix| &prefix.route))
    }

    /// Looks a path and a method up, both byte for byte; the query, behind its `?`, goes on with what
    /// was found.
    #[must_use]
    pub fn look_up(&self, path: &str, query: Option<&str>, method: &str) -> Lookup {
        let Some((route, sent)) = self.find(path) else {
            return Lookup::Unknown;
        };
        match Method::named(method).filter(|method| route.methods.contain(*method)) {
            Some(method) => Lookup::Found(Target::new(route, sent, method, query)),
            None => Lookup::OtherMethod(route.methods),
        }
    }

    /// The route of a path, whatever the method.
    #[must_use]
    pub fn route_of<'a>(&'a self, path: &'a str) -> Option<&'a Route> {
        self.find(path).map(|(route, _)| route)
    }

    fn find<'a>(&'a self, path: &'a str) -> Option<(&'a Route, Sent<'a>)> {
        if let Some(route) = self.exact(path) {
            return Some((route, Sent::Literal(route.matcher.text())));
        }
        let route = self.longest_prefix(path)?;
        let fenced = Fenced::new(path).ok()?;
        self.is_meant(route, fenced).then_some((route, Sent::Fenced(fenced)))
    }

    fn exact(&self, path: &str) -> Option<&Route> {
        let at = self.exact.binary_search_by(|route| route.matcher.text().cmp(path)).ok()?;
        self.exact.get(at)
    }

    /// Whether a path behind a prefix means one that belongs to this row, too. `/feeds/%72efresh` is
    /// `/feeds/refresh` to the server behind: where that has a row of its own, or is the balancer's own, no
    /// other spelling of it may pass as any path behind `/feeds/`.
    fn is_meant(&self, row: &Route, path: Fenced<'_>) -> bool {
        let meant = path.meaning();
        let found = self.meant.as_ref().and_then(|rows| match rows.exact(&meant) {
            None => rows.longest_prefix(&meant),
            exact => exact,
        });
        let is_row = |found: &Route| {
            matches!(found.matcher, Matcher::Prefix(_)) && found.matcher.text() == meaning(row.matcher.text())
        };
        meant != HEALTH_PATH && found.is_some_and(is_row)
    }

    /// Every prefix of the path sorts before it, and whatever sorts between starts with the longest
    /// of them: so that one is on the way up from the last that sorts before.
    fn longest_prefix(&self, path: &str) -> Option<&Route> {
        let after = self.prefixes.partition_point(|prefix| prefix.route.matcher.text() <= path);
        let mut place = after.checked_sub(1);
        while let Some(prefix) = place.and_then(|place| self.prefixes.get(place)) {
            if path.starts_with(prefix.route.matcher.text()) {
                return Some(&prefix.route);
            }
            place = prefix.shorter;
        }
        None
    }

    /// The target of a request that was admitted earlier, from its path as it stands in a host's own
    /// record.
    #[must_use]
    pub fn of_record(&self, path_with_query: &str, method: &str) -> Option<Target> {
        let (path, query) = match path_with_query.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path_with_query, None),
        };
        match self.look_up(path, query, method) {
            Lookup::Found(target) => Some(target),
            _ => None,
        }
    }
}

fn by_text(one: &Route, other: &Route) -> std::cmp::Ordering {
    one.matcher.text().cmp(other.matcher.text())
}

/// Links each of the sorted prefixes to the longest other one that it starts with.
fn nest(sorted: Vec<Route>) -> Vec<Prefix> {
    let mut nested: Vec<Prefix> = Vec::with_capacity(sorted.len());
    for route in sorted {
        let mut shorter = nested.len().checked_sub(1);
        while let Some(prefix) = shorter.and_then(|place| nested.get(place)) {
            if route.matcher.text().starts_with(prefix.route.matcher.text()) {
                break;
            }
            shorter = prefix.shorter;
        }
        nested.push(Prefix { route, shorter });
    }
    nested
}

/// What is sent for a path: the only two kinds of text that ever are.
#[derive(Clone, Copy)]
enum Sent<'a> {
    Literal(&'a str),
    Fenced(Fenced<'a>),
}

/// Where the first request of an attempt goes: a route's literal, or a path that passed the fence,
/// and the query as it was received. Only this file can make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    method: Method,
    bounds: Bounds,
    limit: Option<usize>,
    path_with_query: String,
    path_length: usize,
}

impl Target {
    fn new(route: &Route, sent: Sent<'_>, method: Method, query: Option<&str>) -> Self {
        let path = match sent {
            Sent::Literal(path) => path,
            Sent::Fenced(path) => path.as_str(),
        };
        let path_with_query = match query {
            Some(query) => [path, "?", query].concat(),
            None => path.to_owned(),
        };
        let Route { bounds, limit, .. } = *route;
        Self { method, bounds, limit, path_with_query, path_length: path.len() }
    }

    /// The target of a health probe: `GET /healthz`, whatever the routes are.
    #[must_use]
    pub(super) fn health_probe() -> Self {
        let route = Route {
            matcher: Matcher::Exact(Cow::Borrowed("/healthz")),
            methods: Methods::only(Method::Get),
            bounds: Bounds::ORDINARY,
            limit: None,
        };
        Self::new(&route, Sent::Literal(route.matcher.text()), Method::Get, None)
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The path without the query: fit for a log.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path_with_query.get(..self.path_length).unwrap_or_default()
    }

    /// The route's bounds.
    #[must_use]
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The place of the route's limit in the policy's list.
    #[must_use]
    pub const fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// What is sent.
    #[must_use]
    pub fn path_with_query(&self) -> &str {
        &self.path_with_query
    }
}

#[cfg(test)]
mod tests;
