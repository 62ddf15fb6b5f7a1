//! What the client of a limited route is told. Every answer, forwarded or refused, carries
//! `x-ratelimit-limit` and `x-ratelimit-remaining`, so that a front end can warn before the wall;
//! above the limit it is `429` (RFC 6585 section 4) with `retry-after` (RFC 9110 section 10.2.3).

use super::super::headers::{Field, Headers};
use super::super::reply::Reply;
use super::rule::Limit;
use super::window::Hit;
use serde::Serialize;

/// How many requests a window allows.
pub const LIMIT_FIELD: &str = "x-ratelimit-limit";
/// How many of them are left.
pub const REMAINING_FIELD: &str = "x-ratelimit-remaining";

/// What a key has left in its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    limit: u32,
    remaining: u32,
}

impl Usage {
    /// Judges a request that was counted: what it used, and the `429` if it is one too many.
    #[must_use]
    pub fn judge(limit: &Limit, hit: Hit) -> (Self, Option<Reply>) {
        let most = limit.limit.get();
        let usage = Self { limit: most, remaining: most.saturating_sub(hit.count) };
        (usage, (hit.count > most).then(|| refusal(limit, hit)))
    }

    /// Replaces an origin's fields of these names.
    pub fn set(&self, headers: &mut Headers) {
        for (name, value) in self.fields() {
            headers.set(&name, value);
        }
    }

    /// The fields that say it.
    #[must_use]
    pub fn fields(&self) -> [Field; 2] {
        let field = |name: &str, value: u32| (name.to_owned(), value.to_string().into_bytes());
        [field(LIMIT_FIELD, self.limit), field(REMAINING_FIELD, self.remaining)]
    }
}

fn refusal(limit: &Limit, hit: Hit) -> Reply {
    // A window is a whole number of seconds and never empty: from 1 to its length.
    let seconds = hit.left.0.div_ceil(1000).to_string();
    let body = Body { code: &limit.code, message: "too many requests" };
    // Strings always serialize.
    let reply = Reply::json(429, serde_json::to_vec(&body).unwrap_or_default());
    reply.with("retry-after", &seconds)
}

/// The document, its fields in this order.
#[derive(Serialize)]
struct Body<'a> {
    code: &'a str,
    message: &'static str,
}

#[cfg(test)]
mod tests {
    use super::super::super::time::Millis;
    use super::super::tests::limit;
    use super::*;

    fn judge(limit: &Limit, count: u32, left: u64) -> (Usage, Option<Reply>) {
        Usage::judge(limit, Hit { count, left: Millis(left) })
    }

    fn values(headers: &[Field], name: &str) -> Vec<String> {
        let of_name = headers.iter().filter(|(known, _)| known == name);
        of_name.map(|(_, value)| String::from_utf8(value.clone()).unwrap()).collect()
    }

    #[test]
    fn five_requests_at_a_limit_of_three_leave_2_1_0_0_0() {
        let limit = Limit { limit: 3.try_into().unwrap(), ..limit() };
        let left: Vec<_> = (1..=5).map(|count| judge(&limit, count, 1).0.remaining).collect();
        assert_eq!(left, [2, 1, 0, 0, 0]);
        let refused: Vec<_> = (1..=5).map(|count| judge(&limit, count, 1).1.is_some()).collect();
        assert_eq!(refused, [false, false, false, true, true]);
    }

    #[test]
    fn retry_after_is_rounded_up() {
        for (left, seconds) in [(1, "1"), (1000, "1"), (1001, "2"), (1200, "2"), (60_000, "60")] {
            let reply = judge(&limit(), u32::MAX, left).1.unwrap();
            assert_eq!(values(&reply.headers, "retry-after"), [seconds], "{left}");
        }
    }

    #[test]
    fn the_refusal_is_json_with_the_code_of_the_limit_escaped() {
        let limit = Limit { code: "A\"B\n\u{e9}</script>".to_owned(), ..limit() };
        let reply = judge(&limit, u32::MAX, 12_000).1.unwrap();
        assert_eq!(reply.status, 429);
        assert_eq!(values(&reply.headers, "content-type"), ["application/json"]);
        assert_eq!(values(&reply.headers, "cache-control"), ["no-store"]);
        assert_eq!(
            String::from_utf8(reply.body).unwrap(),
            r#"{"code":"A\"B\nCHAR</script>","message":"too many requests"}"#.replace("CHAR", "\u{e9}")
        );
    }

    #[test]
    fn what_an_origin_says_under_these_names_is_replaced() {
        let mut headers = Headers::from([
            ("x-ratelimit-limit", "9"),
            ("etag", "1"),
            ("X-RateLimit-Limit", "8"),
            ("x-ratelimit-remaining", "7"),
        ]);
        judge(&limit(), 1, 1).0.set(&mut headers);
        let headers = headers.as_slice();
        assert_eq!(values(headers, "x-ratelimit-limit"), ["120"]);
        assert_eq!(values(headers, "x-ratelimit-remaining"), ["119"]);
        assert_eq!(values(headers, "etag"), ["1"]);
    }
}
