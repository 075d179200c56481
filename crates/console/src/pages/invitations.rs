//! Members → Invitations: the list of pending invitations.

use std::collections::HashMap;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::audit::Subject;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::page::Page;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::filters;
use crate::pages::list::List;
use crate::pages::members::tabs;
use crate::pages::notice::Notice;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "invitations.html")]
struct InvitationsPage {
    settings: Settings,
    notice: Option<Notice>,
    tabs: Vec<SectionLink>,
    list: List<InvitationId>,
    found: Page<Invitation, InvitationId>,
    inviters: HashMap<Subject, String>,
    now: DateTime<Utc>,
}

#[handler]
pub(crate) async fn show(owner: Owner, Query(query): Query) -> Result<Response, Refusal> {
    let (console, authority) = (&owner.console, &owner.authority);
    let list = List::read(paths::Invitations(owner.slug()), &query)?;
    let found = console.invitations.pending(authority, list.request()).await?;
    let inviters = found
        .items
        .iter()
        .filter_map(|invitation| invitation.invited_by.as_subject());
    let inviters: Vec<Subject> = inviters.collect();
    owner.page(&InvitationsPage {
        settings: Settings::new(&owner, Section::Members),
        notice: Notice::for_owner(&owner).await?,
        tabs: tabs(owner.slug(), "Invitations"),
        inviters: console.names.find(authority.organization_id(), &inviters).await?,
        list,
        found,
        now: owner.now,
    })
}

impl InvitationsPage {
    /// The inviter's name, or "an administrator on the server".
    fn inviter(&self, invitation: &Invitation) -> &str {
        let inviter = invitation.invited_by.as_subject();
        let name = inviter.and_then(|inviter| self.inviters.get(&inviter));
        name.map_or("an administrator on the server", String::as_str)
    }
}
