//! Revoking members' keys, deliberately: some, all of a person, or all that were created before a moment. The page says
//! what will stop, and why is said to those whose keys they are.

use askama::Template;
use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Utc};
use keyward_domain::administration::ports::{AtStake, KeySelection, MomentNotSettled, RevokeKeysError};
use keyward_domain::administration::{RevocationStopped, RevokedKeys, WhyStopped};
use keyward_domain::api_key::RevocationNote;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::{DescendantKeys, StorageError};
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::{Flash, Message};
use crate::forms::{Fields, OwnerForm, Query, Sent};
use crate::pages::field::Field;
use crate::pages::filters;
use crate::pages::key_standing::Standing;
use crate::pages::list::List;
use crate::pages::moment::YEARS;
use crate::pages::organization_keys::Asked;
use crate::pages::settings::{Section, Settings};
use crate::pages::what_stops::if_counted;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

/// What the name of a box for a key begins with; its identifier follows. (No form sends a name twice.)
const KEY: &str = "key-";

/// For how long one answer goes on revoking. With a portion more and the count of what is left, each of which may take two
/// seconds, it comes before the front door's ten seconds are over.
const PATIENCE: TimeDelta = TimeDelta::seconds(5);

#[derive(Template)]
#[template(path = "revoke_keys.html")]
struct RevokeKeysPage {
    settings: Settings,
    /// Repeats the selection in the form, as name and value.
    selected: Vec<(String, String)>,
    kind: Kind,
    /// What it ends, if that could be counted: nobody is kept from revoking by a count.
    ends: Option<AtStake>,
    now: DateTime<Utc>,
    /// What was chosen before the form came back.
    revoke_descendants: bool,
    note: Field,
    confirmation_missing: bool,
    /// What came of it so far, if there was no time for all of it.
    progress: Option<Progress>,
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
    IssuedBefore(DateTime<Utc>),
}

/// What was selected, as the address or the form says it.
enum Selected {
    Keys(Vec<ApiKeyId>),
    OfHolder(ConsumerId),
    IssuedBefore(DateTime<Utc>),
}

#[handler]
pub(crate) async fn show(owner: Owner, Query(query): Query) -> Result<Response, Refusal> {
    let selected = Selected::parse(&query)?;
    if matches!(&selected, Selected::Keys(ids) if ids.is_empty()) {
        let list = Asked::read(&owner, &query)?.list;
        return Ok(owner.lead_on(list.here(), Message::NothingSelected));
    }
    owner.page(&page(&owner, &selected).await?)
}

#[handler]
pub(crate) async fn submit(
    Sent {
        sender: owner,
        form,
        source,
    }: OwnerForm,
) -> Result<Response, Refusal> {
    let damaged = |_| Refusal::BadForm("The selection of keys is invalid.");
    let selected = Selected::parse(&form).map_err(damaged)?;
    let descendants = form.descendants()?;
    let mut field = Field::with_value(form.required("note")?);
    let note = field.check("Reason", RevocationNote::parse(&field.value));
    let is_confirmed = form.is_confirmed();
    let (Some(note), true) = (note, is_confirmed) else {
        field.focused = field.error.is_some();
        let page = RevokeKeysPage {
            revoke_descendants: descendants == DescendantKeys::Revoke,
            note: field,
            confirmation_missing: !is_confirmed,
            ..page(&owner, &selected).await?
        };
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let selection = selected.selection(&owner.console, descendants)?;
    let keys = &owner.console.organization_keys;
    let revocation = keys.revoke(&owner.authority, selection, Some(note), source, Some(PATIENCE));
    let revoked = match revocation.await {
        Ok(revoked) => return after_revocation(&owner, &revoked),
        Err(stopped) => some_of(stopped)?,
    };
    let page = page(&owner, &selected).await?;
    let left = page.ends.as_ref().map(|ends| match descendants {
        DescendantKeys::Keep => ends.selected.keys,
        DescendantKeys::Revoke => ends.selected.keys.saturating_add(ends.descendants.keys),
    });
    if left == Some(0) {
        return after_revocation(&owner, &revoked);
    }
    owner.page(&RevokeKeysPage {
        progress: Some(Progress {
            revoked: revoked.count,
            left,
        }),
        revoke_descendants: descendants == DescendantKeys::Revoke,
        note: field,
        ..page
    })
}

/// The list of all keys, saying what was revoked.
fn after_revocation(owner: &Owner, revoked: &RevokedKeys) -> Result<Response, Refusal> {
    let flash: Flash = match revoked.first {
        Some(first) => {
            let others = usize::try_from(revoked.count.saturating_sub(1)).unwrap_or(usize::MAX);
            Message::KeysRevoked.about(first.as_uuid()).and_others(others)
        }
        None => Message::NothingToRevoke.into(),
    };
    let path = paths::OrganizationKeys(owner.slug());
    let list = List::<ApiKeyId>::read(path, &Fields::default())?.among(&Standing::All);
    Ok(owner.lead_on(list.first(), flash))
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
                "revocation of many keys stopped early"
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
        console: &crate::Console,
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
            Self::IssuedBefore(moment) => Kind::IssuedBefore(*moment),
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

async fn page(owner: &Owner, selected: &Selected) -> Result<RevokeKeysPage, Refusal> {
    let selection = selected.selection(&owner.console, DescendantKeys::Revoke)?;
    let keys = &owner.console.organization_keys;
    let at_stake = keys.at_stake(&owner.authority, selection, owner.now).await;
    Ok(RevokeKeysPage {
        settings: Settings::new(owner, Section::ApiKeys),
        selected: selected.fields(),
        kind: selected.kind(),
        ends: if_counted(at_stake),
        now: owner.now,
        revoke_descendants: false,
        note: Field::default(),
        confirmation_missing: false,
        progress: None,
    })
}

impl RevokeKeysPage {
    fn ends_nothing(&self) -> bool {
        let ends = self.ends.as_ref();
        ends.is_some_and(|ends| ends.selected.keys == 0 && ends.descendants.keys == 0)
    }

    fn ends_one_key(&self) -> bool {
        match (&self.ends, &self.kind) {
            (Some(ends), _) => {
                let count = ends.selected.keys;
                count == 1 || count + ends.descendants.keys == 1
            }
            (None, Kind::Keys) => self.selected.len() == 1,
            (None, Kind::OfHolder | Kind::IssuedBefore(_)) => false,
        }
    }
}
