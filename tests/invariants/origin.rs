//! The parser of origins against the URL standard's (contract 2.4).

use messageweave_lb::policy::origin::Origin;
use url::Url;

/// Any text is refused, or has one canonical form that is what the URL standard makes of it.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Origin::parse(text) {
        Ok(origin) => assert_canonical(&origin, text),
        Err(_) => assert_not_canonical(text),
    }
}

fn assert_canonical(origin: &Origin, text: &str) {
    let form = origin.as_str();
    assert_eq!(Origin::parse(form).as_ref(), Ok(origin), "the canonical form is its own");
    let authority = form.strip_prefix("https://").expect("https only");
    assert_eq!(origin.authority(), authority);
    assert!(!authority.is_empty() && authority.bytes().all(|byte| byte.is_ascii_graphic()));
    assert!(!authority.contains(['@', '/', '?', '#', '\\']), "{authority} is more than an authority");
    assert_eq!(authority, authority.to_ascii_lowercase());

    let url = Url::parse(form).expect("a canonical form is a URL");
    assert_eq!(url.origin().ascii_serialization(), form);
    assert_ne!(url.port(), Some(0));
    let written = Url::parse(text.trim()).expect("what is accepted is a URL");
    assert_eq!(without_trailing_dot(&written), form);
    assert!(written.username().is_empty() && written.password().is_none());
    assert_eq!((written.path(), written.query(), written.fragment()), ("/", None, None));
}

/// A text that is exactly what the URL standard writes for an https origin is never refused.
fn assert_not_canonical(text: &str) {
    let Ok(url) = Url::parse(text) else { return };
    let domain_is_whole = url.domain().is_none_or(|name| !name.split('.').any(str::is_empty));
    let canonical = url.scheme() == "https" && url.origin().ascii_serialization() == text;
    assert!(!(canonical && domain_is_whole && url.port() != Some(0)), "{text} was refused");
}

fn without_trailing_dot(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}
