//! JSON data as YAML for people and for Envoy. Its parser reads YAML 1.1, where a bare `yes`, `on` or
//! `1_0` is no string, so a writer for YAML 1.2 would leave out quotes that are needed: here a string
//! stands bare only where no reader of any version takes it for something else.

use serde_json::Value;

/// The whole document.
pub(super) fn write(value: &Value) -> String {
    let mut text = String::new();
    block(&mut text, value, 0);
    text
}

/// A value on lines of its own.
fn block(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            indent(text, depth);
            field(text, name, value, depth);
        }),
        Value::Array(items) => items.iter().for_each(|item| {
            indent(text, depth);
            text.push_str("- ");
            entry(text, item, depth + 1);
        }),
        scalar => line(text, scalar),
    }
}

/// An item of a list, behind its dash: the first field of an object stands on the same line.
fn entry(text: &mut String, item: &Value, depth: usize) {
    match item {
        Value::Object(fields) if !fields.is_empty() => {
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    indent(text, depth);
                }
                field(text, name, value, depth);
            }
        }
        other => line(text, other),
    }
}

fn field(text: &mut String, name: &str, value: &Value, depth: usize) {
    text.push_str(&scalar(name));
    text.push(':');
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            block(text, value, depth + 1);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            block(text, value, depth);
        }
        other => {
            text.push(' ');
            line(text, other);
        }
    }
}

/// What fits on a line; empty lists and objects do.
fn line(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => text.push_str(&scalar(string)),
        other => text.push_str(&other.to_string()),
    }
    text.push('\n');
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n("  ", depth));
}

/// Bare if it is a path or a word that is no keyword; else as in JSON, which is YAML too, but for
/// control characters that JSON lets stand.
fn scalar(string: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-%".contains(&byte);
    let starts = string.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'/');
    let keyword = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let word = !keyword.contains(&string.to_ascii_lowercase().as_str());
    match starts && word && string.bytes().all(plain) {
        true => string.to_owned(),
        false => Value::from(string).to_string().chars().fold(String::new(), |text, next| match next {
            '\u{7f}'..='\u{9f}' | '\u{feff}' => text + &format!("\\u{:04x}", u32::from(next)),
            _ => text + next.encode_utf8(&mut [0; 4]),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let value = json!({
            "empty": {}, "none": [], "list": [1, [2], { "a": "b", "c": [{ "d": true }] }, {}],
            "text": ["yes", "ON", "1e3", "0x1", "", " a", "a: b", "#", "é\n\u{7f}", "5s", "-", "~", "null", "1_0"],
            "@type": "type.googleapis.com/envoy.config.X", "/p": 1.5,
        });
        assert_eq!(yaml_serde::from_str::<Value>(&write(&value)).unwrap(), value);
    }

    #[test]
    fn a_word_that_some_reader_takes_for_something_else_is_quoted() {
        for word in ["yes", "No", "ON", "off", "True", "null", "y", "5s", ".5", "0o7", "~", "-1"] {
            assert_eq!(scalar(word), format!("\"{word}\""));
        }
        for word in ["STATIC", "a.example", "/etc/ssl/ca.pem", "x-lb-hop"] {
            assert_eq!(scalar(word), word);
        }
    }
}
