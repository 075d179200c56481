//! Revoking members' keys, deliberately: some, all of a person, or all that were created before a moment. The page says
//! what will stop, and why is said to those whose keys they are.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Utc};
use keyward_domain::administration::ports::{
    AtStake, HeldKey, KeySelection, MomentNotSettled, RevokeKeysError,
};
use keyward_domain::administration::{Authority, RevocationStopped, RevokedKeys, WhyStopped};
use keyward_domain::api_key::RevocationNote;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::organization::Slug;
use keyward_domain::ports::{DescendantKeys, StorageError};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Form, Query};
use crate::pages::field::Field;
use crate::pages::held_key::KeyRow;
use crate::pages::moment::{Moment, YEARS};
use crate::pages::organization_keys::{after_no_selection, after_revocation};
use crate::pages::settings::{Section, Settings};
use crate::pages::what_stops::if_counted;
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

/// What the name of a box for a key begins with; its identifier follows. (No form sends a name twice.)
const KEY: &str = "key-";

/// For how long one answer goes on revoking. With a portion more and the count of what is left, each of which may take two
/// seconds, it comes before the front door's ten seconds are over.
const PATIENCE: TimeDelta = TimeDelta::seconds(5);

#[derive(Template)]
#[template(path = "revoke_keys.html")]
struct RevokeKeysPage {
    settings: Settings,
    list: String,
    address: String,
    /// Repeats the selection in the form, as name and value.
    selected: Vec<(String, String)>,
    kind: Kind,
    /// What it ends, if that could be counted: nobody is kept from revoking by a count.
    ends: Option<Ends>,
    /// What was chosen before the form came back.
    revoke_descendants: bool,
    note: Field,
    confirmation_missing: bool,
    /// What came of it so far, if there was no time for all of it.
    progress: Option<Progress>,
}

/// What a revocation ends.
struct Ends {
    /// What will be revoked in any case.
    count: u32,
    /// How many of these are refused already, because their holders have left.
    without_access: u32,
    /// And how many will stop.
    stopping: u32,
    holders: u32,
    shown: Vec<KeyRow>,
    /// Valid keys that were made from these and were not selected.
    descendants: u32,
    shown_descendants: Vec<KeyRow>,
}

/// How far a revocation came.
struct Progress {
    revoked: u32,
    /// If they could be counted.
    left: Option<u32>,
}

/// What was selected, for the page's words.
enum Kind {
    Keys,
    OfHolder,
    IssuedBefore(Moment),
}

/// What was selected, as the address or the form says it.
enum Selected {
    Keys(Vec<ApiKeyId>),
    OfHolder(ConsumerId),
    IssuedBefore(DateTime<Utc>),
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let selected = Selected::parse(&query)?;
    if matches!(&selected, Selected::Keys(ids) if ids.is_empty()) {
        let slug = &insider.member.organization.slug;
        return Ok(redirect(&after_no_selection(slug, &query)?));
    }
    let page = page(console, &insider, &authority, &selected).await?;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still be signed in, and an owner, when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let damaged = |_| Refusal::BadForm("The selection of keys is invalid.");
    let selected = Selected::parse(&form).map_err(damaged)?;
    let descendants = match form.optional("descendants") {
        Some("revoke") => DescendantKeys::Revoke,
        None => DescendantKeys::Keep,
        Some(_) => return Err(Refusal::BadForm("The choice about the other keys is invalid.")),
    };
    let written = form.required("note")?;
    let mut field = Field::with_value(written);
    let note = field.check("Reason", RevocationNote::parse(written));
    let is_confirmed = form.optional("confirm") == Some("yes");
    let (Some(note), true) = (note, is_confirmed) else {
        field.focused = field.error.is_some();
        let page = RevokeKeysPage {
            revoke_descendants: descendants == DescendantKeys::Revoke,
            note: field,
            confirmation_missing: !is_confirmed,
            ..page(console, &insider, &authority, &selected).await?
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let selection = selected.selection(console, descendants)?;
    let keys = &console.organization_keys;
    let slug = &insider.member.organization.slug;
    let revocation = keys.revoke(&authority, selection, Some(note), source, Some(PATIENCE));
    let revoked = match revocation.await {
        Ok(revoked) => return Ok(redirect(&after_revocation(slug, &revoked))),
        Err(stopped) => some_of(stopped)?,
    };
    let page = page(console, &insider, &authority, &selected).await?;
    let left = page.ends.as_ref().map(|ends| match descendants {
        DescendantKeys::Keep => ends.count,
        DescendantKeys::Revoke => ends.count.saturating_add(ends.descendants),
    });
    if left == Some(0) {
        return Ok(redirect(&after_revocation(slug, &revoked)));
    }
    let page = RevokeKeysPage {
        progress: Some(Progress {
            revoked: revoked.count,
            left,
        }),
        revoke_descendants: descendants == DescendantKeys::Revoke,
        note: field,
        ..page
    };
    html(StatusCode::OK, &page)
}

/// What was revoked, if it was any, before there was no more time or patience with the store. All of it is known: an
/// outcome that is not says so itself.
fn some_of(RevocationStopped { revoked, why }: RevocationStopped) -> Result<RevokedKeys, Refusal> {
    match why {
        WhyStopped::TimeIsUp => Ok(revoked),
        WhyStopped::Refused(RevokeKeysError::NotAllowed) => Err(Refusal::NotFound),
        WhyStopped::Refused(RevokeKeysError::Storage(error @ StorageError::Unavailable(_)))
            if revoked.count > 0 =>
        {
            tracing::warn!(
                error = sentence(&error),
                revoked = revoked.count,
                "a revocation of many keys stopped; whoever wants it is asked to go on"
            );
            Ok(revoked)
        }
        WhyStopped::Refused(RevokeKeysError::Storage(error)) => Err(error.into()),
    }
}

impl Selected {
    fn parse(fields: &Fields) -> Result<Self, Refusal> {
        if let Some(holder) = fields.optional("holder") {
            let holder = holder.parse().map_err(|_| Refusal::BadAddress)?;
            return Ok(Self::OfHolder(holder));
        }
        if let Some(before) = fields.optional("before") {
            let unreadable =
                Refusal::BadForm("Enter a date and time such as 2026-01-31T13:45, in the years 1 to 9999.");
            return Ok(Self::IssuedBefore(moment(before).ok_or(unreadable)?));
        }
        let mut ids = Vec::new();
        for id in fields.named_with(KEY) {
            ids.push(id.parse().map_err(|_| Refusal::BadAddress)?);
        }
        ids.sort_unstable();
        Ok(Self::Keys(ids))
    }

    fn selection(
        &self,
        console: &Console,
        descendants: DescendantKeys,
    ) -> Result<KeySelection, MomentNotSettled> {
        match self {
            Self::Keys(ids) => Ok(KeySelection::Keys {
                ids: ids.clone(),
                descendants,
            }),
            Self::OfHolder(holder) => Ok(KeySelection::OfConsumer(*holder)),
            Self::IssuedBefore(moment) => console.organization_keys.issued_before(*moment),
        }
    }

    fn fields(&self) -> Vec<(String, String)> {
        match self {
            Self::Keys(ids) => ids
                .iter()
                .map(|id| (format!("{KEY}{id}"), "on".to_owned()))
                .collect(),
            Self::OfHolder(holder) => vec![("holder".to_owned(), holder.to_string())],
            Self::IssuedBefore(moment) => {
                vec![("before".to_owned(), moment.format(TO_THE_SECOND).to_string())]
            }
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Keys(_) => Kind::Keys,
            Self::OfHolder(_) => Kind::OfHolder,
            Self::IssuedBefore(moment) => Kind::IssuedBefore(Moment(*moment)),
        }
    }
}

/// As `<input type="datetime-local">` writes it (HTML §2.3.5.4); here it is in UTC, as the page says.
const TO_THE_SECOND: &str = "%Y-%m-%dT%H:%M:%S";
const TO_THE_MINUTE: &str = "%Y-%m-%dT%H:%M";

fn moment(text: &str) -> Option<DateTime<Utc>> {
    let moment = NaiveDateTime::parse_from_str(text, TO_THE_SECOND)
        .or_else(|_| NaiveDateTime::parse_from_str(text, TO_THE_MINUTE));
    let moment = moment.ok().filter(|moment| YEARS.contains(&moment.year()));
    moment.map(|moment| moment.and_utc())
}

async fn page(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    selected: &Selected,
) -> Result<RevokeKeysPage, Refusal> {
    let slug = &insider.member.organization.slug;
    let selection = selected.selection(console, DescendantKeys::Revoke)?;
    let at_stake = console
        .organization_keys
        .at_stake(authority, selection, insider.now)
        .await;
    Ok(RevokeKeysPage {
        settings: Settings::new(insider, Section::ApiKeys),
        list: links::organization_keys(slug),
        address: links::revoke_organization_keys(slug),
        selected: selected.fields(),
        kind: selected.kind(),
        ends: if_counted(at_stake).map(|at_stake| Ends::new(&at_stake, slug, insider.now)),
        revoke_descendants: false,
        note: Field::default(),
        confirmation_missing: false,
        progress: None,
    })
}

impl Ends {
    fn new(
        AtStake {
            selected,
            descendants,
        }: &AtStake,
        slug: &Slug,
        now: DateTime<Utc>,
    ) -> Self {
        // These rows tell of nobody but the holder.
        let nobody = HashMap::new();
        let rows = |keys: &[HeldKey]| {
            keys.iter()
                .map(|key| KeyRow::new(key, slug, &nobody, now))
                .collect()
        };
        Self {
            count: selected.keys,
            without_access: selected.without_access,
            stopping: selected.keys.saturating_sub(selected.without_access),
            holders: selected.holders,
            shown: rows(&selected.first),
            descendants: descendants.keys,
            shown_descendants: rows(&descendants.first),
        }
    }

    const fn is_nothing(&self) -> bool {
        self.count == 0 && self.descendants == 0
    }

    const fn is_one_key(&self) -> bool {
        self.count == 1 || self.count + self.descendants == 1
    }
}

impl RevokeKeysPage {
    fn ends_nothing(&self) -> bool {
        self.ends.as_ref().is_some_and(Ends::is_nothing)
    }

    fn ends_one_key(&self) -> bool {
        match (&self.ends, &self.kind) {
            (Some(ends), _) => ends.is_one_key(),
            (None, Kind::Keys) => self.selected.len() == 1,
            (None, Kind::OfHolder | Kind::IssuedBefore(_)) => false,
        }
    }
}
