//! The search, filters and position of a list page, as its URL has them.

use std::fmt::Display;
use std::str::FromStr;

use keyward_domain::page::{Page, PageRequest, PageSize};

use crate::forms::Fields;
use crate::pages::settings::SectionLink;
use crate::paths::with_query;
use crate::refusal::Refusal;

/// A search in a list, and the page of its results.
#[derive(Debug, Clone)]
pub(super) struct List<Id> {
    /// Its path, without the query.
    pub(super) path: String,
    pub(super) search: String,
    /// The last item of the page before.
    pub(super) after: Option<Id>,
    /// Other query parameters, which a new search keeps.
    pub(super) kept: Vec<(&'static str, String)>,
}

/// The parameter with the status of a list's items.
const STATUS: &str = "status";

/// The states by which a list is filtered. The default is omitted from URLs.
pub(super) trait ListedStatus: Copy + Default + Eq + 'static {
    /// Each state with the label of its tab.
    const TABS: &'static [(Self, &'static str)];

    /// Its value in URLs.
    fn query_value(self) -> &'static str;

    /// The one that the URL says.
    fn read(query: &Fields) -> Result<Self, Refusal> {
        let Some(value) = query.optional(STATUS) else {
            return Ok(Self::default());
        };
        let mut listed = Self::TABS.iter().map(|(status, _)| *status);
        listed
            .find(|status| status.query_value() == value)
            .ok_or(Refusal::BadUrl)
    }
}

/// The noun for the items of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Items {
    pub(super) one: &'static str,
    pub(super) several: &'static str,
    /// The word for those on the pages after the first.
    pub(super) later: &'static str,
}

impl<Id: Copy + Display + FromStr> List<Id> {
    pub(super) fn read(path: impl Display, query: &Fields) -> Result<Self, Refusal> {
        let after = query.optional("after").map(str::parse).transpose();
        Ok(Self {
            path: path.to_string(),
            search: query.optional("search").unwrap_or_default().trim().to_owned(),
            after: after.map_err(|_| Refusal::BadUrl)?,
            kept: Vec::new(),
        })
    }

    /// Reads a list that is filtered by status.
    pub(super) fn read_with_status<S: ListedStatus>(
        path: impl Display,
        query: &Fields,
    ) -> Result<(S, Self), Refusal> {
        let status = S::read(query)?;
        Ok((status, Self::read(path, query)?.with_status(&status)))
    }

    /// The same search with another status, from the first item.
    pub(super) fn with_status<S: ListedStatus>(&self, status: &S) -> Self {
        let value = (*status != S::default()).then(|| status.query_value());
        self.keeping(STATUS, value)
    }

    /// The same search with this in its URL.
    pub(super) fn keeping(&self, name: &'static str, value: Option<impl Display>) -> Self {
        let others = self.kept.iter().filter(|(other, _)| *other != name).cloned();
        let value = value.map(|value| (name, value.to_string()));
        Self {
            kept: others.chain(value).collect(),
            ..self.clone()
        }
    }

    /// Whether more than the search and the status narrows the list.
    pub(super) fn is_filtered(&self) -> bool {
        self.kept.iter().any(|(name, _)| *name != STATUS)
    }

    pub(super) const fn request(&self) -> PageRequest<Id> {
        PageRequest {
            size: PageSize::DEFAULT,
            after: self.after,
        }
    }

    /// One tab for each status, with the same search.
    pub(super) fn tabs<S: ListedStatus>(&self, current: &S) -> Vec<SectionLink> {
        let tabs = S::TABS.iter().map(|&(status, label)| SectionLink {
            label,
            url: self.with_status(&status).first_page_url(),
            is_current: status == *current,
        });
        tabs.collect()
    }

    /// The URL of this page.
    pub(super) fn url(&self) -> String {
        self.at(&self.path, self.after)
    }

    /// The URL of another page, which leads back here.
    pub(super) fn with_return(&self, path: impl Display) -> String {
        self.at(path, self.after)
    }

    /// The URL of the first page.
    pub(super) fn first_page_url(&self) -> String {
        self.at(&self.path, None)
    }

    /// The URL of the first page, if this is another.
    pub(super) fn newest_url(&self) -> Option<String> {
        self.after.map(|_| self.first_page_url())
    }

    /// The URL of the next page, if there is one.
    pub(super) fn older_url<T>(&self, page: &Page<T, Id>) -> Option<String> {
        page.next.map(|next| self.at(&self.path, Some(next)))
    }

    /// The URL without the search term.
    pub(super) fn unsearched(&self) -> String {
        let kept = self
            .kept
            .iter()
            .map(|(name, value)| (*name, Some(value.as_str())));
        with_query(&self.path, kept)
    }

    fn at(&self, path: impl Display, after: Option<Id>) -> String {
        let after = after.map(|id| id.to_string());
        let search = (!self.search.is_empty()).then_some(self.search.as_str());
        let kept = self
            .kept
            .iter()
            .map(|(name, value)| (*name, Some(value.as_str())));
        with_query(
            path,
            kept.chain([("search", search), ("after", after.as_deref())]),
        )
    }

    /// The start of the table's caption: `3 valid keys`. A search and a filter follow.
    pub(super) fn caption<T>(&self, page: &Page<T, Id>, items: &Items) -> String {
        let Items { one, several, later } = *items;
        let count = page.items.len();
        let items = if count == 1 { one } else { several };
        match (self.after, &page.next) {
            (None, None) => format!("{count} {items}"),
            (None, Some(_)) => format!("The {count} newest {items}"),
            (Some(_), _) => format!("{count} {later} {items}"),
        }
    }
}
