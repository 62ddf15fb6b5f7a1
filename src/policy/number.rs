//! Numbers as operators write them (contract 2.4): trimmed, decimal with an optional fraction or
//! exponent, floored, capped at 2^31-1, at least 1.

/// The largest value: what a timer of any host can hold.
pub const MAX: u32 = i32::MAX as u32;

/// Reads a number of at least 1, or nothing.
///
/// Decimal digits with an optional sign, fraction and exponent; `1_000`, `0x10`, `inf` and `10s`
/// are none of those.
#[must_use]
pub fn parse(text: &str) -> Option<u32> {
    let text = text.trim();
    let decimal = |byte: u8| byte.is_ascii_digit() || b".+-eE".contains(&byte);
    if !text.bytes().all(decimal) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    if !number.is_finite() || number < 1.0 {
        return None;
    }
    // A float-to-integer cast floors a positive number and saturates.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some((number as u32).min(MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_floored_and_capped() {
        let cases = [
            ("1", 1),
            (" 42\t", 42),
            ("10.9", 10),
            ("1e3", 1000),
            ("1.5E3", 1500),
            ("5e-1e", 0),
            ("+7", 7),
            ("007", 7),
            ("2147483647", MAX),
            ("2147483648", MAX),
            ("1e300", MAX),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap_or(0), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_number_of_at_least_one_is_nothing() {
        for text in [
            "", " ", "0", "0.99", "-1", "-0", "1e-3", "nan", "inf", "infinity", "1e999", "10s", "0x10",
            "1_000", "1,5", "\u{661}", ".",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
