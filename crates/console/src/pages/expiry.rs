//! When a key expires: in forms, where it is chosen, and on pages that show keys.

use std::fmt;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use keyward_domain::api_key::{
    CannotExtendLife, Expiry, ExpiryChange, InvalidExpiry, LongestLife, Revocation, RevocationReason,
};

use crate::forms::Fields;
use crate::pages::field::Field;
use crate::pages::key_text::KeyTextForm;
use crate::pages::moment::{in_utc, to_the_second};
use crate::refusal::Refusal;

/// The choices of a number of days.
pub(super) const DAYS: [u16; 4] = [7, 30, 60, 90];

/// The fields of a form.
pub(super) struct ExpiryForm {
    pub(super) choice: ExpiryChoice,
    /// The error of a choice other than [`ExpiryChoice::At`].
    pub(super) select: Field,
    /// The time, in UTC, for [`ExpiryChoice::At`].
    pub(super) at: Field,
    /// The key's planned end now.
    pub(super) current: Option<DateTime<Utc>>,
    /// The latest time that is accepted, unless any is.
    pub(super) latest: Option<DateTime<Utc>>,
    /// How many whole days ahead that is.
    latest_days: Option<i64>,
    /// The lifetime of a new key without a choice.
    pub(super) longest: Option<LongestLife>,
}

/// When the key is to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpiryChoice {
    /// The planned end stays as it is.
    Keep,
    /// Never: it is valid until it is revoked.
    Never,
    /// This many days from now.
    After(u16),
    /// At the time in the other field.
    At,
}

impl ExpiryForm {
    /// The form of a key with this planned end, or without one.
    pub(super) fn of(current: Option<DateTime<Utc>>) -> Self {
        Self {
            choice: current.map_or(ExpiryChoice::Never, |_| ExpiryChoice::Keep),
            select: Field::default(),
            at: current.map_or_else(Field::default, |at| Field::with_value(&to_the_second(at))),
            current,
            latest: None,
            latest_days: None,
            longest: None,
        }
    }

    /// The form of a key that may expire at this time at the latest.
    pub(super) fn with_latest(self, latest: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Self {
        Self {
            latest,
            latest_days: latest.map(|latest| (latest - now).num_days()),
            ..self
        }
    }

    /// The form of a new key, in an organization with this longest life.
    pub(super) fn of_new_key(longest: Option<LongestLife>) -> Self {
        Self {
            longest,
            ..Self::of(None)
        }
    }

    /// The numbers of days to choose from.
    pub(super) fn days(&self) -> impl Iterator<Item = u16> {
        let longest = self.longest.map(LongestLife::days);
        let latest = self.latest_days;
        DAYS.into_iter()
            .filter(move |days| longest.is_none_or(|longest| *days < longest))
            .filter(move |days| latest.is_none_or(|latest| i64::from(*days) <= latest))
    }

    /// The planned end now, as [`Fields::seen`] repeats it.
    pub(super) fn current_text(&self) -> String {
        self.current.map(|at| at.to_rfc3339()).unwrap_or_default()
    }

    pub(super) const fn has_error(&self) -> bool {
        self.select.error.is_some() || self.at.error.is_some()
    }

    /// Puts the cursor into the field that has the error.
    pub(super) fn focus_error(&mut self) {
        self.field().focused = true;
    }

    /// The field of the choice.
    const fn field(&mut self) -> &mut Field {
        match self.choice {
            ExpiryChoice::At => &mut self.at,
            ExpiryChoice::Keep | ExpiryChoice::Never | ExpiryChoice::After(_) => &mut self.select,
        }
    }

    /// The choice in the form; unchanged if the fields are absent.
    pub(super) fn filled_in(self, form: &Fields) -> Result<Self, Refusal> {
        let Some(chosen) = form.optional("expiration") else {
            return Ok(self);
        };
        let days = || DAYS.into_iter().find(|days| chosen == days.to_string());
        let choice = match chosen {
            "keep" => ExpiryChoice::Keep,
            "never" => ExpiryChoice::Never,
            "at" => ExpiryChoice::At,
            _ => ExpiryChoice::After(days().ok_or(Refusal::BadForm("A choice in the form is invalid."))?),
        };
        Ok(Self {
            choice,
            at: form.optional("expires_at").map_or(self.at, Field::with_value),
            ..self
        })
    }

    /// The typed values, in the form of the key as it is now.
    pub(super) fn typed_into(self, form: Self) -> Self {
        let choice = match self.choice {
            ExpiryChoice::Keep if form.current.is_none() => ExpiryChoice::Never,
            choice => choice,
        };
        Self {
            choice,
            select: self.select,
            at: self.at,
            ..form
        }
    }

    /// Puts the cursor into the field of the expiry if only that is wrong.
    pub(super) fn focus_error_after(&mut self, text: &mut KeyTextForm) {
        if self.has_error() && text.fields().iter().all(|field| field.error.is_none()) {
            self.focus_error();
        }
    }

    /// Shows why the store refused the choice.
    pub(super) fn refuse(&mut self, error: impl Into<Unacceptable>) {
        let _: Option<()> = self.field().check("Expiration", Err(error.into()));
    }

    /// Parses the form as a change, if there is one; on failure, the field has the error.
    pub(super) fn change(&mut self, now: DateTime<Utc>) -> Option<Option<ExpiryChange>> {
        let expiry = match self.choice {
            ExpiryChoice::Keep => return Some(None),
            ExpiryChoice::Never => return Some(self.current.map(|_| ExpiryChange::Remove)),
            // To the minute: a form that is sent twice asks for the same.
            ExpiryChoice::After(days) => {
                let minute = now.duration_trunc(TimeDelta::minutes(1)).unwrap_or(now);
                Expiry::new(minute + TimeDelta::days(days.into()), now).map_err(Unacceptable::from)
            }
            ExpiryChoice::At => in_utc(&self.at.value)
                .ok_or(Unacceptable::NoTime)
                .and_then(|at| Expiry::new(at, now).map_err(Unacceptable::from)),
        };
        let expiry = self.field().check("Expiration", expiry)?;
        Some(Some(ExpiryChange::Set(expiry)))
    }
}

/// Why a key cannot expire then, for people.
pub(super) enum Unacceptable {
    NoTime,
    Past,
    TooFar,
    TooLong(LongestLife),
    Postponed,
    PutOffTooLong(LongestLife),
}

impl From<InvalidExpiry> for Unacceptable {
    fn from(error: InvalidExpiry) -> Self {
        match error {
            InvalidExpiry::Malformed => Self::NoTime,
            InvalidExpiry::Past => Self::Past,
            InvalidExpiry::TooFar => Self::TooFar,
            InvalidExpiry::LongerThanAllowed(longest) => Self::TooLong(longest),
        }
    }
}

impl From<CannotExtendLife> for Unacceptable {
    fn from(error: CannotExtendLife) -> Self {
        match error {
            CannotExtendLife::BeyondLongestLife(longest) => Self::PutOffTooLong(longest),
            CannotExtendLife::OfItself | CannotExtendLife::OfRotatedKey => Self::Postponed,
        }
    }
}

impl fmt::Display for Unacceptable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTime => f.write_str("must be a date and a time"),
            Self::Past => f.write_str("must be in the future"),
            Self::TooFar => write!(f, "must be at most {} days ahead", Expiry::MAX_DAYS),
            Self::TooLong(longest) => {
                let days = longest.days();
                write!(
                    f,
                    "must be at most {days} days ahead, as the organization’s owners have set"
                )
            }
            Self::PutOffTooLong(longest) => {
                let days = longest.days();
                write!(
                    f,
                    "must be at most {days} days after the key was created, as the organization’s owners have set"
                )
            }
            Self::Postponed => f.write_str("can only be brought forward: the key was rotated"),
        }
    }
}

/// How a key ended.
pub(super) const fn ended(revocation: &Revocation) -> &'static str {
    match revocation.reason {
        RevocationReason::Expired => "Expired",
        RevocationReason::Holder
        | RevocationReason::Owner
        | RevocationReason::Leak
        | RevocationReason::Administrator
        | RevocationReason::Other(_) => "Revoked",
        RevocationReason::Rotation => "Rotated",
    }
}

/// The same as a verb phrase.
pub(super) const fn ended_verb(revocation: &Revocation) -> &'static str {
    match revocation.reason {
        RevocationReason::Expired => "expired",
        RevocationReason::Holder
        | RevocationReason::Owner
        | RevocationReason::Leak
        | RevocationReason::Administrator
        | RevocationReason::Other(_) => "was revoked",
        RevocationReason::Rotation => "was rotated",
    }
}
