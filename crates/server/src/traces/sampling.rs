//! Which part of the requests is traced.

use std::str::FromStr;

/// From 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingRatio(f64);

/// Why a text is none.
#[derive(Debug, thiserror::Error)]
#[error("expected a number from 0 (no request) to 1 (every request)")]
pub(crate) struct InvalidRatio;

impl SamplingRatio {
    pub(crate) const fn ratio(self) -> f64 {
        self.0
    }
}

impl FromStr for SamplingRatio {
    type Err = InvalidRatio;

    fn from_str(text: &str) -> Result<Self, InvalidRatio> {
        let ratio: f64 = text.parse().map_err(|_| InvalidRatio)?;
        if (0.0..=1.0).contains(&ratio) {
            Ok(Self(ratio))
        } else {
            Err(InvalidRatio)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_ratio_is_between_zero_and_one() {
        for text in ["0", "0.01", "1", "1.0", "1e-6"] {
            assert!(text.parse::<SamplingRatio>().is_ok(), "{text}");
        }
        for text in ["", "-0.1", "1.01", "10%", "NaN", "inf", "all"] {
            assert!(text.parse::<SamplingRatio>().is_err(), "{text}");
        }
    }
}
