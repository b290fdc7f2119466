//! The call of a serializer or a deserializer for the usual message, in place of the Python code with the same meaning.
//!
//! Both have short ways, for messages that need nothing but an encoder or a decoder of this module. A message without a
//! short way, and one whose short way raises, is left to the Python code, which runs it again and places the error.

use pyo3::PyClass;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyString};

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::json::{JsonDecoder, JsonEncoder};
use crate::outcome::{Irregular, OrIrregular, Outcome};

/// Calls of one serializer.
///
/// `definition(value, ctx)` is the Python code.
#[pyclass(frozen, module = "counterfoil_accelerator")]
pub struct SerializerCall {
    ways: Vec<WritingWay>,
    definition: Py<PyAny>,
}

/// Topic, field, a function and its prefix.
type WritingEntry<'py> = (Option<Py<PyString>>, Py<PyString>, Bound<'py, PyAny>, Py<PyBytes>);

struct WritingWay {
    topic: Option<Py<PyString>>,
    field: Py<PyString>,
    encode: Encode,
    prefix: Py<PyBytes>,
}

/// What encodes, called without passing through Python.
enum Encode {
    Avro(Py<Encoder>),
    Json(Py<JsonEncoder>),
}

#[pymethods]
impl SerializerCall {
    #[new]
    fn new(ways: Vec<WritingEntry<'_>>, definition: Py<PyAny>) -> Self {
        let ways = ways
            .into_iter()
            .filter_map(|(topic, field, encode, prefix)| {
                Some(WritingWay { topic, field, encode: Encode::of(&encode)?, prefix })
            })
            .collect();
        Self { ways, definition }
    }

    /// Return the message for `value`. Raises what `definition` raises.
    #[pyo3(signature = (value, ctx = None))]
    fn __call__<'py>(&self, value: &Bound<'py, PyAny>, ctx: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        self.write(value, ctx)
            .or_else(|irregular| irregular.or_else(py, || self.definition.bind(py).call1((value, ctx))))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for way in &self.ways {
            match &way.encode {
                Encode::Avro(encoder) => visit.call(encoder)?,
                Encode::Json(encoder) => visit.call(encoder)?,
            }
        }
        visit.call(&self.definition)
    }
}

impl SerializerCall {
    fn write<'py>(&self, value: &Bound<'py, PyAny>, ctx: Option<&Bound<'py, PyAny>>) -> Outcome<Bound<'py, PyAny>> {
        let py = value.py();
        let ctx = ctx.filter(|_| !value.is_none()).or_irregular()?;
        let topic = ctx.getattr(intern!(py, "topic"))?;
        let field = ctx.getattr(intern!(py, "field"))?;
        let way = self.ways.iter().find(|way| way.is_for(&topic, &field)).or_irregular()?;
        Ok(way.encode.call(value, way.prefix.bind(py))?)
    }
}

impl WritingWay {
    fn is_for(&self, topic: &Bound<'_, PyAny>, field: &Bound<'_, PyAny>) -> bool {
        let is_for_topic = match &self.topic {
            Some(own) => is_text(topic, own),
            None => topic.is_none(),
        };
        is_for_topic && is_text(field, &self.field)
    }
}

/// Return whether an object is this text.
#[inline]
fn is_text(found: &Bound<'_, PyAny>, text: &Py<PyString>) -> bool {
    found.is(text)
        || found.cast::<PyString>().is_ok_and(|found| match (found.to_str(), text.bind(found.py()).to_str()) {
            (Ok(found), Ok(text)) => found == text,
            _ => false,
        })
}

impl Encode {
    fn of(method: &Bound<'_, PyAny>) -> Option<Self> {
        object_of(method).map(Self::Avro).or_else(|| object_of(method).map(Self::Json))
    }

    #[inline]
    fn call<'py>(&self, value: &Bound<'py, PyAny>, prefix: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Avro(encoder) => encoder.get().encode(value, Some(prefix.as_any())),
            Self::Json(encoder) => encoder.get().encode(value, prefix.as_any()),
        }
    }
}

/// Return the object of a method, if it is of class `T`.
fn object_of<T: PyClass>(method: &Bound<'_, PyAny>) -> Option<Py<T>> {
    let object = method.getattr(intern!(method.py(), "__self__")).ok()?;
    object.cast_into::<T>().ok().map(Bound::unbind)
}

/// Calls of one deserializer.
///
/// `ways` are tuples of a prefix, which all have `prefix_size` bytes, and a function; `definition(data, ctx)` is the
/// Python code.
#[pyclass(frozen, module = "counterfoil_accelerator")]
pub struct DeserializerCall {
    ways: Vec<(Vec<u8>, Decode)>,
    prefix_size: usize,
    definition: Py<PyAny>,
}

/// What decodes, called without passing through Python.
enum Decode {
    Avro(Py<Decoder>),
    Json(Py<JsonDecoder>),
}

#[pymethods]
impl DeserializerCall {
    #[new]
    fn new(ways: Vec<(Vec<u8>, Bound<'_, PyAny>)>, prefix_size: usize, definition: Py<PyAny>) -> Self {
        let ways = ways.into_iter().filter_map(|(prefix, decode)| Some((prefix, Decode::of(&decode)?))).collect();
        Self { ways, prefix_size, definition }
    }

    /// Return the value of a message. Raises what `definition` raises.
    #[pyo3(signature = (data, ctx = None))]
    fn __call__<'py>(&self, data: &Bound<'py, PyAny>, ctx: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        self.read(data, ctx).or_else(|irregular| irregular.or_else(py, || self.definition.bind(py).call1((data, ctx))))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for (_, decode) in &self.ways {
            match decode {
                Decode::Avro(decoder) => visit.call(decoder)?,
                Decode::Json(decoder) => visit.call(decoder)?,
            }
        }
        visit.call(&self.definition)
    }
}

impl DeserializerCall {
    fn read<'py>(&self, data: &Bound<'py, PyAny>, ctx: Option<&Bound<'py, PyAny>>) -> Outcome<Bound<'py, PyAny>> {
        let message = data.cast_exact::<PyBytes>().or_irregular()?;
        let prefix = message.as_bytes().get(..self.prefix_size).or_irregular()?;
        let (_, decode) = self.ways.iter().find(|(known, _)| known == prefix).or_irregular()?;
        if let Some(ctx) = ctx
            && ctx.getattr(intern!(data.py(), "headers"))?.is_truthy()?
        {
            return Err(Irregular::HERE);
        }
        Ok(decode.call(message, self.prefix_size)?)
    }
}

impl Decode {
    fn of(method: &Bound<'_, PyAny>) -> Option<Self> {
        object_of(method).map(Self::Avro).or_else(|| object_of(method).map(Self::Json))
    }

    #[inline]
    fn call<'py>(&self, message: &Bound<'py, PyBytes>, offset: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Avro(decoder) => decoder.get().decode_at(message.as_any(), offset),
            Self::Json(decoder) => decoder.get().decode(message.as_any(), offset),
        }
    }
}
