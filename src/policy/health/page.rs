//! The health view as a page to look at, on a phone too: no script, nothing from elsewhere.

use super::View;

/// Nothing but this style may act: all else is refused by [`POLICY`], which names it by its hash.
const STYLE: &str = "\
:root{color-scheme:light dark;font:1em/1.5 system-ui,sans-serif}\
body{max-width:40em;margin:auto;padding:1em;overflow-wrap:anywhere}\
ul{list-style:none;padding:0}\
li{border-top:1px solid #8888;padding:.6em 0}\
.up b{color:light-dark(#137333,#81c995)}\
.down b{color:light-dark(#b3261e,#f2b8b5)}";

/// The page's content security policy (CSP Level 3).
pub(super) const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-NTrvs/EvB9FTJNUJBq7+0s6V29nKnFOKx+44+dR69+w='; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page.
pub(super) fn render(view: &View<'_>, is_well: bool) -> String {
    let counts = format!("{} of {} up", view.available, view.total);
    let mut page = [
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>",
        view.status,
        "</title><style>",
        STYLE,
        "</style><h1 class=",
        class(is_well),
        "><b>",
        view.status,
        "</b></h1><p>",
        &counts,
        "<p>version ",
        &escape(view.version),
        "<ul>",
    ]
    .concat();
    for backend in &view.backends {
        let state = class(backend.up);
        let status = backend.status.map_or_else(|| "no answer".to_owned(), |status| format!("HTTP {status}"));
        let parts = ["<li class=", state, "><b>", state, "</b> ", &escape(backend.origin), "<br>", &status];
        page.push_str(&parts.concat());
    }
    page + "</ul>"
}

const fn class(is_up: bool) -> &'static str {
    if is_up { "up" } else { "down" }
}

/// What text may not hold (HTML section 13.1.2).
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_policy_names_the_style_by_its_hash() {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        assert!(POLICY.contains(&format!("style-src 'sha256-{hash}'")), "the hash is {hash}");
    }

    #[test]
    fn a_version_cannot_become_markup() {
        let view = View { status: "ok", version: "<b>&lt;", available: 0, total: 0, backends: Vec::new() };
        assert!(render(&view, true).contains("<p>version &lt;b>&amp;lt;<ul>"));
    }
}
