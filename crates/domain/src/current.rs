//! Configuration that is replaced while the server runs.

use std::sync::{Arc, PoisonError, RwLock};

/// A value as it is now.
#[derive(Debug, Default)]
pub struct Current<T>(RwLock<Arc<T>>);

impl<T> Current<T> {
    /// Begins with this value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }

    /// Puts another one in its place.
    pub fn replace(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }

    /// The value of this moment.
    #[must_use]
    pub fn now(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::Current;

    #[test]
    fn replaced_value_is_returned_from_then_on() {
        let current = Current::new(1);
        let before = current.now();
        current.replace(2);
        assert_eq!((*before, *current.now()), (1, 2));
    }
}
