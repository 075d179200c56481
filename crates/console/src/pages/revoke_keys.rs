//! The confirmation page for revoking members' keys: selected ones, all of a member, or all created before a given
//! time. It previews what stops working, and asks for a note to the holders.

mod preview_text;

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::administration::ports::{
    CutoffTooRecent, HeldKey, KeySelection, RevocationPreview, RevokeKeysError,
};
use keyward_domain::administration::{RevokedKeys, StopReason, Stopped};
use keyward_domain::api_key::RevocationNote;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::ports::{DescendantKeys, StorageError};
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::{Flash, Message};
use crate::forms::{Fields, OwnerForm, Query, Sent};
use crate::pages::field::Field;
use crate::pages::filters::{self, grouped_digits};
use crate::pages::list::List;
use crate::pages::membership_end_preview::if_counted;
use crate::pages::moment::{in_utc, to_the_second};
use crate::pages::organization_keys::{Asked, behind_revocation, refuse_cutoff};
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;
use preview_text::{holder_count, key_count};

/// The prefix of the checkbox names, followed by the key's identifier. (Forms never repeat a name.)
pub(super) const KEY: &str = "key-";

/// Time budget of one request: budget + batch + 5.1 s wait < front door's 10 s.
pub(super) const TIME_BUDGET: TimeDelta = TimeDelta::seconds(3);

#[derive(Template)]
#[template(path = "revoke_keys.html")]
struct RevokeKeysPage {
    settings: Settings,
    /// The list that the page leads back to, as its own URL names it.
    list: List<ApiKeyId>,
    selected: Selected,
    /// The preview, if counting succeeded; a failed count does not prevent the revocation.
    ends: Option<RevocationPreview>,
    now: DateTime<Utc>,
    /// The choice in a form that is shown again.
    revoke_descendants: bool,
    note: Field,
    confirmation_missing: bool,
    /// The progress of a revocation that exceeded its time budget.
    progress: Option<Progress>,
}

/// The progress of a revocation.
struct Progress {
    revoked: u32,
    /// If they could be counted.
    left: Option<u32>,
    /// Whether more are left than were counted.
    has_more: bool,
}

impl Progress {
    /// `4 keys were revoked, 3 are left`.
    fn text(&self) -> String {
        let revoked = match self.revoked {
            1 => "1 key was".to_owned(),
            count => format!("{} keys were", grouped_digits(count)),
        };
        let more = if self.has_more { "more than " } else { "" };
        match self.left {
            Some(1) => format!("{revoked} revoked, {more}1 is left"),
            Some(left) => format!("{revoked} revoked, {more}{} are left", grouped_digits(left)),
            None => format!("{revoked} revoked, others may be left"),
        }
    }
}

/// The heading for the selected keys.
enum Heading<'a> {
    /// Only keys that were created with them are left.
    Descendants,
    Key(&'a HeldKey),
    /// Several keys of one person.
    OfHolder(String, &'a HeldKey),
    /// Keys, and of how many people.
    OfSeveral(String, String),
    /// Keys of one person that are not shown.
    Count(String),
}

/// The selection in the URL or the form.
enum Selected {
    Keys(Vec<ApiKeyId>),
    OfHolder(MembershipId),
    IssuedBefore(DateTime<Utc>),
}

#[handler]
pub(crate) async fn show(owner: Owner, Query(query): Query) -> Result<Response, Refusal> {
    let selected = Selected::parse(&query)?;
    let asked = Asked::read_for_revocation(&owner, &query)?;
    if matches!(&selected, Selected::Keys(ids) if ids.is_empty()) {
        return Ok(owner.redirect(asked.list.url(), Message::NothingSelected));
    }
    if let Some((cutoff, error)) = selected.too_recent_cutoff(&owner.console) {
        return refuse_cutoff(&owner, asked, cutoff, error).await;
    }
    owner.page(&page(&owner, asked.list, selected).await?)
}

#[handler]
pub(crate) async fn submit(
    Sent(owner, form, source): OwnerForm,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let asked = Asked::read_for_revocation(&owner, &query)?;
    let damaged = |_| Refusal::BadForm("The selection of keys is invalid.");
    let selected = Selected::parse(&form).map_err(damaged)?;
    if let Some((cutoff, error)) = selected.too_recent_cutoff(&owner.console) {
        return refuse_cutoff(&owner, asked, cutoff, error).await;
    }
    let list = asked.list;
    let back = list.url();
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
            ..page(&owner, list, selected).await?
        };
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let selection = selected.selection(&owner.console, descendants)?;
    let keys = &owner.console.organization_keys;
    let revocation = keys.revoke(&owner.authority, selection, Some(note), source, Some(TIME_BUDGET));
    let revoked = match revocation.await {
        Ok(revoked) => return Ok(redirect_to_list(&owner, back, &revoked)),
        Err(stopped) => some_of(stopped)?,
    };
    let page = page(&owner, list, selected).await?;
    let left = page.ends.as_ref().map(|ends| match descendants {
        DescendantKeys::Keep => (ends.selected.keys, ends.selected.has_more),
        DescendantKeys::Revoke => (
            ends.selected.keys.saturating_add(ends.descendants.keys),
            ends.selected.has_more || ends.descendants.has_more,
        ),
    });
    if left == Some((0, false)) {
        return Ok(redirect_to_list(&owner, back, &revoked));
    }
    owner.page(&RevokeKeysPage {
        progress: Some(Progress {
            revoked: revoked.count,
            left: left.map(|(left, _)| left),
            has_more: left.is_some_and(|(_, has_more)| has_more),
        }),
        revoke_descendants: descendants == DescendantKeys::Revoke,
        note: field,
        ..page
    })
}

/// Redirects to the list from which the page was reached, with a notice about the revoked keys.
fn redirect_to_list(owner: &Owner, list: String, revoked: &RevokedKeys) -> Response {
    let flash: Flash = match revoked.first {
        Some(first) => {
            let others = usize::try_from(revoked.count.saturating_sub(1)).unwrap_or(usize::MAX);
            Message::KeysRevoked.about(first.as_uuid()).and_others(others)
        }
        None => Message::NothingToRevoke.into(),
    };
    owner.redirect(list, flash)
}

/// Keys revoked before the time budget was used up or the store became unavailable. An unknown outcome is an error.
fn some_of(stopped: Stopped<RevokedKeys, RevokeKeysError>) -> Result<RevokedKeys, Refusal> {
    let revoked = stopped.progress;
    match stopped.why {
        StopReason::TimeBudgetExceeded => Ok(revoked),
        StopReason::Refused(RevokeKeysError::NotAllowed) => Err(Refusal::NotFound),
        StopReason::Refused(RevokeKeysError::Storage(error @ StorageError::Unavailable(_)))
            if revoked.count > 0 =>
        {
            tracing::warn!(
                error = sentence(&error),
                revoked = revoked.count,
                "revocation of many keys stopped early"
            );
            Ok(revoked)
        }
        StopReason::Refused(RevokeKeysError::Storage(error)) => Err(error.into()),
    }
}

impl Selected {
    fn parse(fields: &Fields) -> Result<Self, Refusal> {
        if let Some(holder) = fields.optional("holder") {
            let holder = holder.parse().map_err(|_| Refusal::BadUrl)?;
            return Ok(Self::OfHolder(holder));
        }
        if let Some(before) = fields.optional("before") {
            let unreadable =
                Refusal::BadForm("Enter a date and time such as 2026-01-31T13:45, in the years 1 to 9999.");
            return Ok(Self::IssuedBefore(in_utc(before).ok_or(unreadable)?));
        }
        let mut ids = Vec::new();
        for id in fields.named_with(KEY) {
            ids.push(id.parse().map_err(|_| Refusal::BadUrl)?);
        }
        ids.sort_unstable();
        Ok(Self::Keys(ids))
    }

    fn too_recent_cutoff(&self, console: &crate::Console) -> Option<(DateTime<Utc>, CutoffTooRecent)> {
        match self {
            Self::Keys(_) | Self::OfHolder(_) => None,
            Self::IssuedBefore(moment) => {
                let error = console.organization_keys.issued_before(*moment).err()?;
                Some((*moment, error))
            }
        }
    }

    fn selection(
        &self,
        console: &crate::Console,
        descendants: DescendantKeys,
    ) -> Result<KeySelection, CutoffTooRecent> {
        match self {
            Self::Keys(ids) => Ok(KeySelection::Keys {
                ids: ids.clone(),
                descendants,
            }),
            Self::OfHolder(holder) => Ok(KeySelection::OfConsumer(*holder)),
            Self::IssuedBefore(moment) => console.organization_keys.issued_before(*moment),
        }
    }

    /// The hidden fields of the form (name and value).
    fn fields(&self) -> Vec<(String, String)> {
        match self {
            Self::Keys(ids) => ids
                .iter()
                .map(|id| (format!("{KEY}{id}"), "on".to_owned()))
                .collect(),
            Self::OfHolder(holder) => vec![("holder".to_owned(), holder.to_string())],
            Self::IssuedBefore(moment) => {
                vec![("before".to_owned(), to_the_second(*moment))]
            }
        }
    }
}

async fn page(owner: &Owner, list: List<ApiKeyId>, selected: Selected) -> Result<RevokeKeysPage, Refusal> {
    let selection = selected.selection(&owner.console, DescendantKeys::Revoke)?;
    let keys = &owner.console.organization_keys;
    let revocation_preview = keys
        .revocation_preview(&owner.authority, selection, owner.now)
        .await;
    Ok(RevokeKeysPage {
        settings: Settings::new(owner, Section::ApiKeys),
        list,
        selected,
        ends: if_counted(revocation_preview),
        now: owner.now,
        revoke_descendants: false,
        note: Field::default(),
        confirmation_missing: false,
        progress: None,
    })
}

impl RevokeKeysPage {
    fn heading<'a>(&self, ends: &'a RevocationPreview) -> Heading<'a> {
        let (keys, count) = (&ends.selected, key_count(&ends.selected));
        match (keys.first.first(), &self.selected) {
            _ if keys.keys == 0 => Heading::Descendants,
            (Some(only), _) if keys.keys == 1 => Heading::Key(only),
            (_, Selected::Keys(_)) if keys.holders > 1 => Heading::OfSeveral(count, holder_count(keys)),
            (_, Selected::IssuedBefore(_)) => Heading::OfSeveral(count, holder_count(keys)),
            (Some(first), Selected::Keys(_) | Selected::OfHolder(_)) => Heading::OfHolder(count, first),
            (None, Selected::Keys(_) | Selected::OfHolder(_)) => Heading::Count(count),
        }
    }

    /// Whether any of the selected keys still works, as far as they were counted.
    const fn stops_requests(ends: &RevocationPreview) -> bool {
        let keys = &ends.selected;
        keys.keys == 0 || keys.has_more || keys.keys > keys.without_access
    }

    /// Where the form is sent.
    fn action(&self) -> String {
        behind_revocation(&self.list).with_return(paths::RevokeOrganizationKeys(&self.settings.slug))
    }

    /// The label of the form's button.
    fn button_label(&self) -> &'static str {
        match &self.progress {
            Some(_) => "Continue",
            None if self.ends_one_key() => "Revoke key",
            None => "Revoke keys",
        }
    }

    fn ends_nothing(&self) -> bool {
        let ends = self.ends.as_ref();
        ends.is_some_and(|ends| ends.selected.keys == 0 && ends.descendants.keys == 0)
    }

    fn ends_one_key(&self) -> bool {
        match (&self.ends, &self.selected) {
            (Some(ends), _) => {
                let count = ends.selected.keys;
                count == 1 || count + ends.descendants.keys == 1
            }
            (None, Selected::Keys(ids)) => ids.len() == 1,
            (None, Selected::OfHolder(_) | Selected::IssuedBefore(_)) => false,
        }
    }
}
