//! Reading a list over its pages.

use std::fmt::Debug;

use crate::page::{Page, PageRequest, PageSize};
use crate::ports::StorageError;

/// More items than people see on one page, and fewer than an export asks for at once.
pub(super) const MORE_THAN_A_HUNDRED: usize = 101;

pub(super) fn size_of(items: u16) -> PageSize {
    PageSize::new(items).expect("a page size")
}

/// All items of a list, over pages of this size. Fails if pages do not advance: each MUST begin further down
/// than the one before.
pub(super) async fn all_pages<T, At, Answer>(
    size: PageSize,
    mut page: impl FnMut(PageRequest<At>) -> Answer,
) -> Vec<T>
where
    At: Copy + Ord + Debug,
    Answer: Future<Output = Result<Page<T, At>, StorageError>>,
{
    let mut items = Vec::new();
    let mut after = None;
    loop {
        let answer = page(PageRequest { size, after }).await;
        let Page { items: shown, next } = answer.expect("the store answers");
        assert!(shown.len() <= size.items(), "no page is over its size");
        items.extend(shown);
        let Some(next) = next else {
            return items;
        };
        assert!(
            after.is_none_or(|after| next < after),
            "each page leads further down the list: the one after {after:?} led to {next:?}"
        );
        after = Some(next);
    }
}
