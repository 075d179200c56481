//! Long lists, page by page: keyset paging by identifier, newest first.

/// The number of items on one page: 1 to 100 if a client chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(u16);

/// A number that is no page size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a number from 1 to {max}", max = PageSize::MAX)]
pub struct InvalidPageSize;

impl PageSize {
    /// The most items on one page that a client may ask for.
    pub const MAX: u16 = 100;
    /// The default page size.
    pub const DEFAULT: Self = Self(50);
    /// The page size for reading a whole list, with fewer queries.
    pub const EXPORT: Self = Self(1_000);

    /// A page size for short summaries.
    pub const FEW: Self = Self(5);
    /// A page size for reading only the first item.
    pub const ONE: Self = Self(1);

    /// Checks a page size.
    ///
    /// # Errors
    /// The number is 0 or over [`PageSize::MAX`].
    pub const fn new(items: u16) -> Result<Self, InvalidPageSize> {
        if items >= 1 && items <= Self::MAX {
            Ok(Self(items))
        } else {
            Err(InvalidPageSize)
        }
    }

    /// At least 1; over [`PageSize::MAX`] only for [`PageSize::EXPORT`].
    #[must_use]
    pub const fn items(self) -> usize {
        self.0 as usize
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Which page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest<Id> {
    /// The maximum number of items.
    pub size: PageSize,
    /// Only items older than this one; from the newest if absent. The item itself need not exist any more.
    pub after: Option<Id>,
}

impl<Id> PageRequest<Id> {
    /// Starts with the newest item.
    #[must_use]
    pub const fn first(size: PageSize) -> Self {
        Self { size, after: None }
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, Id> {
    /// The items, newest first.
    pub items: Vec<T>,
    /// The value of [`PageRequest::after`] for the next page, if there is one.
    pub next: Option<Id>,
}

impl<T, Id> Page<T, Id> {
    /// Creates a page from up to one more item than the page size; the extra item means that there is a next
    /// page.
    #[must_use]
    pub fn from_one_more(mut items: Vec<T>, size: PageSize, id: impl Fn(&T) -> Id) -> Self {
        let more = items.len() > size.items();
        items.truncate(size.items());
        let next = if more { items.last().map(id) } else { None };
        Self { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::{Page, PageSize};

    #[test]
    fn page_size_is_1_to_100() {
        assert_eq!(PageSize::default().items(), 50);
        for (items, is_size) in [
            (0, false),
            (1, true),
            (100, true),
            (101, false),
            (u16::MAX, false),
        ] {
            assert_eq!(PageSize::new(items).is_ok(), is_size, "{items}");
        }
        let said = PageSize::new(0).unwrap_err().to_string();
        assert_eq!(said, "must be a number from 1 to 100");
    }

    #[test]
    fn one_extra_item_indicates_a_next_page() {
        let size = PageSize::new(2).unwrap();
        for (items, shown, next) in [
            (vec![], vec![], None),
            (vec![9, 8], vec![9, 8], None),
            (vec![9, 8, 7], vec![9, 8], Some(8)),
        ] {
            let page = Page::from_one_more(items, size, |item| *item);
            assert_eq!(page, Page { items: shown, next });
        }
    }
}
