//! The health view as a page to look at, on a phone too: no script, nothing from elsewhere.
//!
//! Small before fast: it is for eyes, and part of each shipped artifact.

use super::View;

/// The page up to its list. Each `%` is a value: title, class, status, version.
const HEAD: &str = "<!doctype html><html lang=en><meta charset=utf-8>\
    <meta name=viewport content=\"width=device-width\"><title>%</title><style>\
    :root{color-scheme:light dark;font:1em/1.5 system-ui,sans-serif}\
    body{max-width:40em;margin:auto;padding:1em;overflow-wrap:anywhere}\
    ul{list-style:none;padding:0}\
    li{border-top:1px solid #8888;padding:.6em 0}\
    .down{color:light-dark(#b3261e,#f2b8b5)}\
    </style><h1 class=%>%</h1><p>version %<ul>";

/// One backend: class, state, origin, what it answered. The list's end may be left out with the page's.
const ITEM: &str = "<li class=%><b>%</b> %<br>%";

/// The page's content security policy (CSP Level 3): its own style may act, named by its hash, and
/// nothing else.
pub(super) const POLICY: &str = "default-src 'none';\
    style-src 'sha256-UYtNQVD8WlkTBT0u5QW1P3BD5RyY6gyLfF9KuyvA+XY=';\
    base-uri 'none';form-action 'none';frame-ancestors 'none'";

/// The page.
#[inline(never)]
pub(super) fn render(view: &View<'_>, is_well: bool) -> Vec<u8> {
    let mut page = Vec::new();
    fill(&mut page, HEAD, &[view.status, class(is_well), view.status, view.version]);
    for backend in &view.backends {
        let state = class(backend.up);
        let status = backend.status.map(|status| usize::from(status).to_string());
        fill(&mut page, ITEM, &[state, state, backend.origin, status.as_deref().unwrap_or("no answer")]);
    }
    page
}

const fn class(is_up: bool) -> &'static str {
    if is_up { "up" } else { "down" }
}

/// Adds the template with its values, without what text may not hold (HTML section 13.1.2).
#[inline(never)]
fn fill(page: &mut Vec<u8>, template: &str, values: &[&str]) {
    let mut values = values.iter();
    for byte in template.bytes() {
        match (byte, values.as_slice()) {
            (b'%', [value, ..]) => {
                values.next();
                for byte in value.bytes() {
                    match byte {
                        b'&' => page.extend_from_slice(b"&amp;"),
                        b'<' => page.extend_from_slice(b"&lt;"),
                        _ => page.push(byte),
                    }
                }
            }
            _ => page.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::health::Backend;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    fn page(version: &str, backends: Vec<Backend<'_>>) -> String {
        let view = View { status: "ok", version, available: 1, total: 2, backends };
        String::from_utf8(render(&view, true)).unwrap()
    }

    #[test]
    fn the_policy_names_the_style_by_its_hash() {
        let page = page("1", Vec::new());
        let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        let hash = STANDARD.encode(Sha256::digest(style));
        assert!(POLICY.contains(&format!("style-src 'sha256-{hash}'")), "the hash is {hash}");
    }

    #[test]
    fn every_value_has_its_place() {
        let page = page(
            "7",
            vec![
                Backend { origin: "https://a.example", up: true, status: Some(200) },
                Backend { origin: "https://b.example", up: false, status: None },
            ],
        );
        assert!(page.contains("<title>ok</title>"));
        let end = "<h1 class=up>ok</h1><p>version 7<ul>\
            <li class=up><b>up</b> https://a.example<br>200\
            <li class=down><b>down</b> https://b.example<br>no answer";
        assert!(page.ends_with(end), "{page}");
    }

    #[test]
    fn a_version_cannot_become_markup() {
        assert!(page("<b>&lt;%", Vec::new()).ends_with("<p>version &lt;b>&amp;lt;%<ul>"));
    }
}
