//! The policy document and the routes that it makes, over any text. An input is a path in its first
//! line, a method in its second, and a document behind it.

use super::path;
use messageweave_lb::policy::document::Policy;
use messageweave_lb::policy::routes::Lookup;

/// A document is read whole or refused with a reason; what it lets through is a row's, as received.
pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (path, method, document) = (next(), next(), next());
    path::assert_judged(path);
    let policy = match Policy::read(document) {
        Ok(policy) => policy,
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a reason");
            let place = "LB_POLICY_JSON";
            assert!(errors.iter().all(|error| error.to_string().starts_with(place)), "no place");
            return;
        }
    };
    let row = path::row(&policy.routes, path);
    match policy.routes.look_up(path, Some("a=1"), method) {
        Lookup::Unknown => assert_eq!(row, None, "{path:?}"),
        Lookup::OtherMethod(methods) => {
            assert_eq!(row.map(|row| row.methods), Some(methods));
            assert!(methods.iter().all(|known| known.as_str() != method));
        }
        Lookup::Found(target) => {
            let row = row.expect("a row");
            assert!(row.methods.contain(target.method()));
            assert_eq!((target.method().as_str(), target.path()), (method, path));
            assert_eq!(target.path_with_query(), format!("{path}?a=1"));
            assert_eq!((target.bounds(), target.limit()), (row.bounds, row.limit));
            assert!(target.limit().is_none_or(|place| place < policy.limits.len()));
            let again = policy.routes.of_record(target.path_with_query(), method);
            assert_eq!(again, Some(target));
        }
    }
}
