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

impl Form {
    /// The form that a request's `accept` prefers.
    #[must_use]
    pub fn preferred(headers: &Headers) -> Self {
        let [mut json, mut html] = [Preference::default(); 2];
        for line in headers.all("accept") {
            for range in split_outside_quotes(line, b',').filter_map(Range::read) {
                json.hear(range.specificity(b"application", b"json", false), range.weight);
                html.hear(range.specificity(b"text", b"html", true), range.weight);
            }
        }
        let is_html = html.weight > 0 && (html.weight, html.specificity) > (json.weight, json.specificity);
        if is_html { Self::Html } else { Self::Json }
    }
}

/// What is known of one form so far.
#[derive(Clone, Copy, Default)]
struct Preference {
    specificity: u8,
    weight: u16,
}

impl Preference {
    /// The most specific range counts; of two alike the heavier.
    fn hear(&mut self, specificity: u8, weight: u16) {
        if specificity > 0 && (specificity, weight) > (self.specificity, self.weight) {
            *self = Self { specificity, weight };
        }
    }
}

/// `media-range [ weight ]`
struct Range<'a> {
    kind: &'a [u8],
    subtype: &'a [u8],
    parameter: Parameter,
    /// In thousandths.
    weight: u16,
}

/// What a range asks for beside the type; a form with other parameters than its own does not match.
#[derive(PartialEq, Eq)]
enum Parameter {
    None,
    Utf8,
    Other,
}

impl<'a> Range<'a> {
    fn read(item: &'a [u8]) -> Option<Self> {
        let mut parts = split_outside_quotes(item, b';').map(<[u8]>::trim_ascii);
        let mut halves = parts.next()?.split(|byte| *byte == b'/');
        let (kind, subtype) = (halves.next()?, halves.next()?);
        let mut range = Self { kind, subtype, parameter: Parameter::None, weight: 1000 };
        for part in parts {
            // The weight is the last of them; what once could stand behind it had no use.
            if let [b'q' | b'Q', b'=', weight @ ..] = part {
                range.weight = thousandths(weight)?;
                break;
            }
            let is_utf8 = part.eq_ignore_ascii_case(b"charset=utf-8") && range.parameter == Parameter::None;
            range.parameter = if is_utf8 { Parameter::Utf8 } else { Parameter::Other };
        }
        Some(range)
    }

    /// How closely the range names that type; zero where it does not match.
    fn specificity(&self, kind: &[u8], subtype: &[u8], is_utf8: bool) -> u8 {
        let closeness = match (self.kind, self.subtype) {
            (b"*", b"*") => 1,
            (own, b"*") if own.eq_ignore_ascii_case(kind) => 2,
            (own, sub) if own.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subtype) => 3,
            _ => 0,
        };
        match self.parameter {
            Parameter::Utf8 if is_utf8 && closeness == 3 => 4,
            Parameter::None => closeness,
            Parameter::Utf8 | Parameter::Other => 0,
        }
    }
}

/// `qvalue` (RFC 9110 section 12.4.2): from 0 to 1, with at most three decimals.
fn thousandths(value: &[u8]) -> Option<u16> {
    let (whole, decimals) = match value {
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        [whole] => (whole, &[][..]),
        _ => return None,
    };
    let digits = std::iter::once(whole).chain(decimals).chain([b'0'; 3].iter()).take(4);
    let weight = digits.fold(Some(0), |sum, digit| {
        digit.is_ascii_digit().then(|| u16::from(digit & 15)).and_then(|digit| Some(sum? * 10 + digit))
    });
    weight.filter(|weight| *weight <= 1000)
}

/// The items of a list, where a quoted string (RFC 9110 section 5.6.4) may hold the separator.
fn split_outside_quotes(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_quoted,
            b'"' => is_quoted = !is_quoted,
            _ => return *byte == separator && !is_quoted,
        }
        false
    })
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
            "application/json;q=0.899, text/html;q=0.9",
            "application/json;q=0, */*",
            "text/html;level=1;q=0, text/html",
            "text/html;q=0.2, text/html;charset=utf-8, application/json;q=0.5",
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
            "application/json, text/html;q=0.2, text/html;charset=utf-8;q=0.1",
            "text/html;level=1",
            "text/html;charset=latin1",
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
