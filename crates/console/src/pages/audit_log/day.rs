//! A day in the filter of the audit log.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, Utc};

use crate::pages::field::Field;
use crate::pages::moment::YEARS;

/// A filter by day, in UTC.
#[derive(Clone)]
pub(super) enum Day {
    Any,
    One(NaiveDate),
    Unreadable { typed: String, problem: &'static str },
}

impl Day {
    pub(super) fn parse(text: Option<&str>) -> Self {
        let Some(typed) = text else { return Self::Any };
        match NaiveDate::parse_from_str(typed, "%Y-%m-%d") {
            Ok(day) if YEARS.contains(&day.year()) => Self::One(day),
            Ok(_) | Err(_) => Self::Unreadable {
                typed: typed.to_owned(),
                problem: "Enter a date such as 2026-01-31.",
            },
        }
    }

    pub(super) const fn readable(&self) -> Option<NaiveDate> {
        match self {
            Self::One(day) => Some(*day),
            Self::Any | Self::Unreadable { .. } => None,
        }
    }

    pub(super) const fn is_unreadable(&self) -> bool {
        match self {
            Self::Any | Self::One(_) => false,
            Self::Unreadable { .. } => true,
        }
    }

    pub(super) fn to_field(&self) -> Option<String> {
        match self {
            Self::Any => None,
            Self::One(day) => Some(day.to_string()),
            Self::Unreadable { typed, .. } => Some(typed.clone()),
        }
    }

    pub(super) fn to_form_field(&self) -> Field {
        let mut field = Field::with_value(&self.to_field().unwrap_or_default());
        if let Self::Unreadable { problem, .. } = self {
            field.error = Some((*problem).to_owned());
        }
        field
    }
}

pub(super) fn start_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

pub(super) fn day_after(day: NaiveDate) -> Option<NaiveDate> {
    day.checked_add_days(Days::new(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_iso_dates_are_parsed() {
        assert!(matches!(Day::parse(Some("2026-01-31")), Day::One(_)));
        assert!(matches!(Day::parse(None), Day::Any));
        for text in ["31.1.2026", "2026-02-30", "tomorrow", "+262142-12-31"] {
            assert!(matches!(Day::parse(Some(text)), Day::Unreadable { .. }), "{text}");
        }
    }
}
