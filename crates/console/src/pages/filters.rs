//! Template filters for times and numbers.
#![expect(unreachable_pub, reason = "the attribute generates public methods")]

use std::fmt::Display;

use askama::Values;
use askama::filters::Safe;
use chrono::{DateTime, SecondsFormat, Utc};

/// A `<time>` element: the text to the minute, the title to the second, in UTC. The script shows the local
/// date instead, and the local time as title.
#[askama::filter_fn]
pub(super) fn time<T: Moment>(moment: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let at = moment.at();
    Ok(element(at, "", &to_the_minute(at)))
}

/// Like `time`, where it matters how long ago it is: within 30 days of now, the script shows the distance.
#[askama::filter_fn]
pub(super) fn ago<T: Moment>(moment: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let at = moment.at();
    Ok(element(at, " data-time=\"ago\"", &to_the_minute(at)))
}

/// Like `time`, where the exact time matters: the text is to the second, also with the script, because a
/// title cannot be read by touch or keyboard.
#[askama::filter_fn]
pub(super) fn exact<T: Moment>(moment: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let at = moment.at();
    Ok(element(at, " data-time=\"exact\"", &to_the_second(at)))
}

/// A whole number with commas between groups of three digits.
#[askama::filter_fn]
pub(super) fn grouped<T: Display>(number: T, _: &dyn Values) -> askama::Result<String> {
    Ok(grouped_digits(number))
}

/// The same outside of templates.
pub(super) fn grouped_digits(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn element(at: DateTime<Utc>, attribute: &str, text: &str) -> Safe<String> {
    let (machine, exact) = (at.to_rfc3339_opts(SecondsFormat::Millis, true), to_the_second(at));
    Safe(format!(
        "<time datetime=\"{machine}\" title=\"{exact}\"{attribute}>{text}</time>"
    ))
}

fn to_the_minute(at: DateTime<Utc>) -> String {
    at.format("%-d %b %Y, %H:%M UTC").to_string()
}

fn to_the_second(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M:%S UTC").to_string()
}

/// A time, or a reference to one.
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
