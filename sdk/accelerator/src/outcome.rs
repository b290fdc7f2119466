//! What ends encoding or decoding early.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// A value or data that is left to the Python code; with the exception of a callback if it raised one.
#[derive(Debug)]
pub struct Irregular(Option<Box<PyErr>>);

/// A result, or the decision to leave the message to the Python code.
pub type Outcome<T> = Result<T, Irregular>;

impl Irregular {
    /// Something that only the Python code handles, or that only it may refuse.
    pub const HERE: Self = Self(None);

    /// Return the result of the Python code, unless an exception such as `KeyboardInterrupt` must end the call.
    pub fn or_else<'py>(
        self,
        py: Python<'py>,
        fallback: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            Some(raised) if !raised.is_instance_of::<PyException>(py) => Err(*raised),
            _ => fallback(),
        }
    }

    /// Return the value, unless an exception such as `KeyboardInterrupt` must end the call.
    pub fn or_value<T>(self, py: Python<'_>, value: T) -> PyResult<T> {
        match self.0 {
            Some(raised) if !raised.is_instance_of::<PyException>(py) => Err(*raised),
            _ => Ok(value),
        }
    }
}

impl From<PyErr> for Irregular {
    #[cold]
    fn from(raised: PyErr) -> Self {
        Self(Some(Box::new(raised)))
    }
}

/// Return the value, or leave the message to the Python code if there is none.
pub trait OrIrregular<T> {
    /// See the trait.
    fn or_irregular(self) -> Outcome<T>;
}

impl<T> OrIrregular<T> for Option<T> {
    #[inline]
    fn or_irregular(self) -> Outcome<T> {
        self.ok_or(Irregular::HERE)
    }
}

impl<T, E> OrIrregular<T> for Result<T, E> {
    #[inline]
    fn or_irregular(self) -> Outcome<T> {
        self.map_err(|_| Irregular::HERE)
    }
}
