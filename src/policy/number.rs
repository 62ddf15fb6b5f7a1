//! Numbers as operators write them (contract 2.4): trimmed, decimal with an optional fraction or
//! exponent, floored, capped at 2^31-1, at least 1.

/// The largest value: what a timer of any host can hold.
pub const MAX: u32 = i32::MAX as u32;

/// From this many digits before the point on a number counts as infinite, as it does for 64-bit floats
/// from some 1.8e308 on.
const INFINITE: i64 = 309;

/// Reads a number of at least 1, or nothing.
///
/// Decimal digits with an optional sign, fraction and exponent; `1_000`, `0x10`, `inf` and `10s`
/// are none of those.
#[must_use]
pub fn parse(text: &str) -> Option<u32> {
    let text = text.trim();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
        None => (text, 0),
    };
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let zeros = digits().take_while(|digit| *digit == b'0').count();
    // How many significant digits stand before the point.
    let before =
        i64::try_from(whole.len()).ok()?.checked_add(exponent)?.checked_sub(i64::try_from(zeros).ok()?)?;
    let mut significant = digits().skip(zeros).peekable();
    if significant.peek().is_none() || !(1..INFINITE).contains(&before) {
        return None;
    }
    let significant = significant.chain(std::iter::repeat(b'0')).take(usize::try_from(before).ok()?);
    let floored = significant.fold(0_u32, |number, digit| {
        number.saturating_mul(10).saturating_add(u32::from(digit.wrapping_sub(b'0')))
    });
    Some(floored.min(MAX))
}

/// An exponent that is beyond counting is so far off that its sign alone matters.
fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let far = i64::from(i32::MAX);
    let size = digits.parse().unwrap_or(far).min(far);
    Some(if text.starts_with('-') { -size } else { size })
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
            ("1.", 1),
            ("1e3", 1000),
            ("1.5E3", 1500),
            ("1e+3", 1000),
            ("12345e-2", 123),
            ("0.00125e4", 12),
            (".5e1", 5),
            ("+7", 7),
            ("007", 7),
            ("0.0000000001e10", 1),
            ("2147483647", MAX),
            ("2147483648", MAX),
            ("99999999999999999999.9", MAX),
            ("1e300", MAX),
            ("1000000e-6", 1),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_number_of_at_least_one_is_nothing() {
        for text in [
            "",
            " ",
            "0",
            "0.99",
            "-1",
            "-0",
            "1e-3",
            "nan",
            "inf",
            "infinity",
            "1e999",
            "10s",
            "0x10",
            "1_000",
            "1,5",
            "\u{661}",
            ".",
            "e1",
            "1e",
            "1e+",
            "1e1.5",
            "1.5.5",
            "++1",
            "5e-1e",
            "0e5",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "9999999999e-10",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn it_reads_what_a_float_of_64_bits_reads() {
        let parts =
            ["", "+", "-", "0", "00", "1", "9", "12", "907", ".", "e", "E", "e-", "e2", "3", "300", "320"];
        for one in parts {
            for two in parts {
                for three in parts {
                    for four in parts {
                        let text = [one, two, three, four].concat();
                        let float =
                            text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 1.0);
                        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                        let expected = float.map(|number| (number as u32).min(MAX));
                        assert_eq!(parse(&text), expected, "{text:?}");
                    }
                }
            }
        }
    }
}
