//! Which form of the health view a client is shown (RFC 9110 section 12.5.1).
//!
//! Each form gets the weight of the most specific range of `accept` that matches it. HTML is shown to
//! who prefers it: by weight, and at equal weight by naming it more closely (`text/html, */*`).
//! Everything else gets JSON, the default: no preference, a tie, a range or a weight that cannot be
//! read, and where neither is acceptable too, for the section lets a server answer all the same.

use crate::policy::headers::Headers;

/// A form of the health view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `application/json`, the default.
    Json,
    /// `text/html; charset=utf-8`: a page to look at.
    Html,
}

/// The ranges that match each form, the closest last; how close a range is, is its place.
const RANGES: [[&[u8]; 3]; 2] =
    [[b"*/*", b"application/*", b"application/json"], [b"*/*", b"text/*", b"text/html"]];

/// The page's own parameter.
const OWN: [&[u8]; 2] = [b"charset=utf-8", b"charset=\"utf-8\""];

impl Form {
    /// The form that a request's `accept` prefers.
    #[must_use]
    #[inline(never)]
    pub fn preferred(headers: &Headers) -> Self {
        let mut heard = [0; 2];
        for mut rest in headers.all("accept") {
            while !rest.is_empty() {
                if let Some((name, weight)) = range(cut(&mut rest, b',')) {
                    hear(&mut heard, name, weight);
                }
            }
        }
        let [json, html] = heard;
        // The weight first, then how closely the form was named.
        let is_html = html & 0xffff > 0 && html.rotate_left(16) > json.rotate_left(16);
        if is_html { Self::Html } else { Self::Json }
    }
}

/// Keeps how close a range is in the upper half and its weight in the lower: the greatest is that of
/// the closest, and of two alike the heavier.
fn hear(heard: &mut [u32; 2], name: &[u8], weight: u32) {
    for (heard, ranges) in heard.iter_mut().zip(RANGES) {
        for (known, place) in ranges.into_iter().zip(1..) {
            if known.eq_ignore_ascii_case(name) {
                *heard = (*heard).max(place << 16 | weight);
            }
        }
    }
}

/// `media-range [ weight ]`: its name, and its weight in thousandths. One with a parameter of its own
/// asks for what neither form is; the page's own `charset=utf-8`, which may be quoted (RFC 9110 section
/// 8.3.2), is none, and an empty one is nothing (section 5.6.6).
fn range(mut rest: &[u8]) -> Option<(&[u8], u32)> {
    let name = cut(&mut rest, b';');
    while !rest.is_empty() {
        // The weight is the last of them; what once could stand behind it had no use.
        match cut(&mut rest, b';') {
            [b'q' | b'Q', b'=', weight @ ..] => return Some((name, thousandths(weight)?)),
            [] => {}
            part if OWN.iter().any(|own| part.eq_ignore_ascii_case(own)) => {}
            _ => return None,
        }
    }
    Some((name, 1000))
}

/// `qvalue` (RFC 9110 section 12.4.2): from 0 to 1, with at most three decimals.
fn thousandths(value: &[u8]) -> Option<u32> {
    let mut weight = 0;
    for place in [0, 2, 3, 4] {
        weight = weight * 10 + char::from(*value.get(place).unwrap_or(&b'0')).to_digit(10)?;
    }
    let is_read = !value.is_empty() && value.len() <= 5 && value.get(1).is_none_or(|point| *point == b'.');
    (is_read && weight <= 1000).then_some(weight)
}

/// Takes the next item off a list, without the blanks around it; a quoted string (RFC 9110 section
/// 5.6.4) may hold the separator.
#[inline(never)]
fn cut<'a>(rest: &mut &'a [u8], separator: u8) -> &'a [u8] {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let end = rest.iter().position(|byte| {
        if is_escaped {
            is_escaped = false;
        } else if *byte == b'"' {
            is_quoted = !is_quoted;
        } else if is_quoted {
            is_escaped = *byte == b'\\';
        } else {
            return *byte == separator;
        }
        false
    });
    let (item, after) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or_default();
    *rest = after.get(1..).unwrap_or_default();
    item.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(lines: &[&str]) -> Form {
        let fields = lines.iter().map(|line| ("accept".to_owned(), line.as_bytes().to_vec()));
        Form::preferred(&Headers::new(fields.collect()))
    }

    #[test]
    fn who_prefers_html_gets_html() {
        for line in [
            "text/html",
            "text/*",
            "TEXT/HTML",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,\
             application/signed-exchange;v=b3;q=0.7",
            "text/html, */*",
            "*/*, text/html",
            "text/*, */*",
            "text/html;charset=utf-8",
            "text/html; charset=UTF-8 ; q=0.001",
            "text/html; charset=\"utf-8\"",
            "text/html;CHARSET=\"UTF-8\";q=0.2",
            "text/html;;q=0.5",
            "text/html; ; charset=utf-8;",
            "text/html;",
            "application/json;q=0.899, text/html;q=0.9",
            "application/json;q=0, */*",
            "text/html;level=1;q=0, text/html",
            "image/png;a=\",application/json,\", text/html;q=0.5",
            "text/html;q=1.000;ext=1, application/json;q=0.9",
        ] {
            assert_eq!(preferred(&[line]), Form::Html, "{line}");
        }
        assert_eq!(preferred(&["application/json;q=0.1", "text/html;q=0.2"]), Form::Html);
    }

    #[test]
    fn everybody_else_gets_json() {
        assert_eq!(preferred(&[]), Form::Json);
        for line in [
            "",
            "*/*",
            "application/json",
            "image/png",
            "application/json, text/html",
            "text/html, application/json",
            "application/*, text/*",
            "text/html;q=0",
            "text/html;q=0.000, */*;q=0.1",
            "text/html;q=0, image/png",
            "*/*, text/html;q=0.9",
            "text/*, text/html;q=0, */*;q=0.1",
            "text/html;q=0.5, application/json;q=0.501",
            "text/html;level=1",
            "text/html;charset=latin1",
            "text/html;charset=\"latin1\"",
            "text/html;charset=\"utf-8",
            "text/html;;level=1",
            "text/html;;q=0",
            "text/html;charset=utf-8;level=1",
            "text/html;level=1;charset=utf-8",
            "image/png;a=\",text/html,\"",
            "image/png;a=\"\\\",text/html,\"",
            "text/htm",
            "text/html5",
            "text",
            "*",
        ] {
            assert_eq!(preferred(&[line]), Form::Json, "{line}");
        }
    }

    #[test]
    fn a_range_whose_weight_cannot_be_read_is_passed_over() {
        for weight in ["", ".9", "2", "1.001", "0.0001", "-1", "0,9", "a", "0.a", "10", "1.0000"] {
            let line = format!("text/html;q={weight}");
            assert_eq!(preferred(&[&line]), Form::Json, "{line}");
        }
        assert_eq!(preferred(&["application/json;q=9, text/html;q=0.1"]), Form::Html);
    }
}
