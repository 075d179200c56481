use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StorageError;

use super::{BrokenStore, Fault, List};

impl BrokenStore {
    /// A page of the sound store, unless the fault is in how this list is paged.
    pub(super) async fn page<T, At, Answer>(
        &self,
        list: List,
        is_filtered: bool,
        request: PageRequest<At>,
        ask: impl FnOnce(PageRequest<At>) -> Answer,
    ) -> Result<Page<T, At>, StorageError>
    where
        Answer: Future<Output = Result<Page<T, At>, StorageError>>,
    {
        if self.fault == Fault::IgnoresCursor(list) {
            let after = None;
            return ask(PageRequest { after, ..request }).await;
        }
        let hundred = PageSize::new(100).expect("a page size");
        let is_cut = self.fault == Fault::TruncatesPagesAt100(list)
            || is_filtered && self.fault == Fault::TruncatesFilteredPagesAt100(list);
        if is_cut && request.size.items() > hundred.items() {
            let size = hundred;
            let page = ask(PageRequest { size, ..request }).await?;
            return Ok(Page { next: None, ..page });
        }
        ask(request).await
    }
}
