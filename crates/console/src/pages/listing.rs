//! Which part of a long list a page shows: what was searched for, which states, and where it begins. All of it stands in
//! the page's address.

use std::fmt::Display;
use std::str::FromStr;

use keyward_domain::page::{PageRequest, PageSize};

use crate::forms::Fields;
use crate::links;
use crate::pages::settings::SectionLink;
use crate::refusal::Refusal;

/// A search in a list, and the page of what it finds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing<'a, Id> {
    pub(super) search: &'a str,
    /// The last item of the page before.
    pub(super) after: Option<Id>,
}

/// The same in a list whose items have states.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatusListing<'a, Id, Status> {
    pub(super) status: Status,
    pub(super) part: Listing<'a, Id>,
}

/// The states of a list's items, as the page offers them. The default stands in no address.
pub(super) trait ListedStatus: Copy + Default + Eq + 'static {
    /// Each with the word of its tab.
    const TABS: &'static [(Self, &'static str)];

    fn from_word(word: &str) -> Option<Self>;
    fn as_str(self) -> &'static str;
}

/// What the items of a list are called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Items {
    pub(super) one: &'static str,
    pub(super) several: &'static str,
    /// The word for those on the pages after the first.
    pub(super) later: &'static str,
}

impl<'a, Id: Copy + Display + FromStr> Listing<'a, Id> {
    pub(super) fn parse(query: &'a Fields) -> Result<Self, Refusal> {
        let after = query.optional("after").map(str::parse).transpose();
        Ok(Self {
            search: query.optional("search").unwrap_or_default().trim(),
            after: after.map_err(|_| Refusal::BadAddress)?,
        })
    }

    pub(super) const fn request(&self) -> PageRequest<Id> {
        PageRequest {
            size: PageSize::DEFAULT,
            after: self.after,
        }
    }

    /// The address of the list from its first item or from the one after, with what else stands in it.
    pub(super) fn address<const MORE: usize>(
        &self,
        list: &str,
        after: Option<Id>,
        more: [(&str, Option<&str>); MORE],
    ) -> String {
        let after = after.map(|id| id.to_string());
        let search = (!self.search.is_empty()).then_some(self.search);
        let own = [("search", search), ("after", after.as_deref())];
        links::with_query(list, more.into_iter().chain(own))
    }

    /// The address of the first page, if this is another.
    pub(super) fn newest<const MORE: usize>(
        &self,
        list: &str,
        more: [(&str, Option<&str>); MORE],
    ) -> Option<String> {
        self.after.map(|_| self.address(list, None, more))
    }

    /// What the table holds: "3 valid keys". The words of a search follow.
    pub(super) fn caption(&self, count: usize, has_later: bool, items: Items) -> String {
        let Items { one, several, later } = items;
        let items = if count == 1 { one } else { several };
        match (self.after, has_later) {
            (None, false) => format!("{count} {items}"),
            (None, true) => format!("The {count} newest {items}"),
            (Some(_), _) => format!("{count} {later} {items}"),
        }
    }
}

impl<'a, Id: Copy + Display + FromStr, Status: ListedStatus> StatusListing<'a, Id, Status> {
    pub(super) fn parse(query: &'a Fields) -> Result<Self, Refusal> {
        let status = match query.optional("status") {
            None => Status::default(),
            Some(word) => Status::from_word(word).ok_or(Refusal::BadAddress)?,
        };
        Ok(Self {
            status,
            part: Listing::parse(query)?,
        })
    }

    /// The address of the list from its first item or from the one after.
    pub(super) fn address(&self, list: &str, after: Option<Id>) -> String {
        self.part.address(list, after, [self.field()])
    }

    /// The address of the first page, if this is another.
    pub(super) fn newest(&self, list: &str) -> Option<String> {
        self.part.newest(list, [self.field()])
    }

    /// The address of the same search among the items of a status.
    pub(super) fn among(&self, list: &str, status: Status) -> String {
        Self { status, ..*self }.address(list, None)
    }

    /// The address of the items of the same status, whatever they are called.
    pub(super) fn unsearched(&self, list: &str) -> String {
        let everything = Listing {
            search: "",
            ..self.part
        };
        everything.address(list, None, [self.field()])
    }

    pub(super) fn tabs(&self, list: &str) -> Vec<SectionLink> {
        let tabs = Status::TABS.iter().map(|&(status, label)| SectionLink {
            label,
            address: self.among(list, status),
            is_current: status == self.status,
        });
        tabs.collect()
    }

    /// How the status stands in an address.
    pub(super) fn field(&self) -> (&'static str, Option<&'static str>) {
        let is_default = self.status == Status::default();
        ("status", (!is_default).then(|| self.status.as_str()))
    }
}
