//! What templates make of the domain's types.
#![expect(unreachable_pub, reason = "the attribute makes methods that are public")]

use std::fmt::Display;

use askama::Values;
use askama::filters::Safe;
use chrono::{DateTime, SecondsFormat, Utc};

/// A moment: for reading to the minute, and for those who hover to the second. The script makes it relative and local.
#[askama::filter_fn]
pub(super) fn time<T: Moment>(moment: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let at = moment.at();
    Ok(element(at, "", &shortly(at)))
}

/// Likewise, where it matters how long ago it is.
#[askama::filter_fn]
pub(super) fn ago<T: Moment>(moment: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let at = moment.at();
    Ok(element(at, " data-time=\"ago\"", &shortly(at)))
}

/// Likewise, where the exact time matters: a title cannot be read by touch or keyboard.
#[askama::filter_fn]
pub(super) fn exact<T: Moment>(moment: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let at = moment.at();
    Ok(element(at, " data-time=\"exact\"", &exactly(at)))
}

/// To the second, as text.
#[askama::filter_fn]
pub(super) fn exact_text<T: Moment>(moment: T, _: &dyn Values) -> askama::Result<String> {
    Ok(exactly(moment.at()))
}

/// A number with a comma before every three of its last digits.
#[askama::filter_fn]
pub(super) fn grouped<T: Display>(number: T, _: &dyn Values) -> askama::Result<String> {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    Ok(text)
}

fn element(at: DateTime<Utc>, attribute: &str, text: &str) -> Safe<String> {
    let (machine, exact) = (at.to_rfc3339_opts(SecondsFormat::Millis, true), exactly(at));
    Safe(format!(
        "<time datetime=\"{machine}\" title=\"{exact}\"{attribute}>{text}</time>"
    ))
}

fn shortly(at: DateTime<Utc>) -> String {
    at.format("%-d %b %Y, %H:%M UTC").to_string()
}

fn exactly(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M:%S UTC").to_string()
}

/// A moment, however templates have it at hand.
pub(super) trait Moment {
    fn at(&self) -> DateTime<Utc>;
}

impl Moment for DateTime<Utc> {
    fn at(&self) -> DateTime<Utc> {
        *self
    }
}

impl<T: Moment> Moment for &T {
    fn at(&self) -> DateTime<Utc> {
        (*self).at()
    }
}
