//! Decoders: a plan of a writer's and a reader's schema, and the walk over it for each message.

use pyo3::prelude::*;
use pyo3::types::{
    PyAny, PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyNone, PyString, PyTuple,
};

use crate::conversion::Conversion;
use crate::message::Message;
use crate::nodes::{NodeNumber, checked, conversion, part, unknown};
use crate::outcome::{Irregular, OrIrregular, Outcome};

/// One step of a plan; `counterfoil.sdk.serde.avro.plan` defines their meaning.
pub enum Node {
    Null,
    Boolean,
    Int(Option<Conversion>),
    Long(Option<Conversion>),
    Float,
    Double,
    Bytes(Option<Conversion>),
    Text(Option<Conversion>),
    Fixed(usize, Option<Conversion>),
    /// The reader's values of the writer's symbols.
    Enum(Vec<Option<Py<PyString>>>),
    /// The items, and the size in bytes that each has at least.
    Array(NodeNumber, usize),
    Map(NodeNumber),
    Union(Vec<NodeNumber>),
    Unreadable,
    Record(Record),
    /// All bytes to the end: text, or bytes.
    RawText(Option<Conversion>),
    RawBytes(Option<Conversion>),
}

pub struct Record {
    /// The fields of the writer.
    pub fields: Vec<Field>,
    /// Every field of the reader in its order, with its default or None.
    template: Py<PyDict>,
    /// The fields with mutable defaults, of which every record needs its own.
    copied: Vec<(Py<PyString>, Py<PyAny>)>,
    /// What each record weighs beside its bytes.
    pub unpaid: u64,
    /// The numbers and defaults of the reader's fields that the writer does not have.
    pub filled: Vec<(usize, Py<PyAny>)>,
}

/// A field of the writer; without a target it is skipped.
pub struct Field {
    target: Option<Py<PyString>>,
    /// The number of the target among the reader's fields.
    pub column: Option<usize>,
    /// The step that reads it.
    pub node: NodeNumber,
}

/// Reads data of one schema.
///
/// `nodes` are the steps of a plan, `root` is the number of the first. With `whole`, bytes after the value are an error.
/// `max_empty_items` and `max_weight` limit what is made of no bytes. `fallback(data, offset)` reads what this class
/// does not: it is the Python code of the same plan.
#[pyclass(frozen, module = "counterfoil_accelerator")]
pub struct Decoder {
    /// The steps of the plan.
    pub nodes: Vec<Node>,
    /// The first step.
    pub root: NodeNumber,
    /// Whether bytes after the value are an error.
    pub is_whole: bool,
    max_empty_items: u64,
    max_weight: u64,
    fallback: Py<PyAny>,
}

#[pymethods]
impl Decoder {
    #[new]
    #[pyo3(signature = (nodes, root, *, whole, max_empty_items, max_weight, fallback))]
    fn new(
        nodes: &Bound<'_, PyList>,
        root: NodeNumber,
        whole: bool,
        max_empty_items: u64,
        max_weight: u64,
        fallback: Py<PyAny>,
    ) -> PyResult<Self> {
        let count = nodes.len();
        let nodes = nodes.iter().map(|node| Node::read(node.cast()?, count)).collect::<PyResult<_>>()?;
        let root = checked(root, count)?;
        Ok(Self { nodes, root, is_whole: whole, max_empty_items, max_weight, fallback })
    }

    /// Return the value at `offset` of `data`. Raises what `fallback` raises.
    #[pyo3(signature = (data, offset = None, /))]
    fn decode<'py>(&self, data: &Bound<'py, PyAny>, offset: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        let start = offset.map_or(Ok(0_usize), PyAnyMethods::extract).map_err(Irregular::from);
        start.and_then(|start| self.value_of(data, start)).or_else(|irregular| {
            irregular.or_else(py, || match offset {
                Some(offset) => self.fallback.bind(py).call1((data, offset)),
                None => self.fallback.bind(py).call1((data,)),
            })
        })
    }
}

impl Decoder {
    /// Return the value at `offset` of `data`. Raises what `fallback` raises.
    pub fn decode_at<'py>(&self, data: &Bound<'py, PyAny>, offset: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        self.value_of(data, offset)
            .or_else(|irregular| irregular.or_else(py, || self.fallback.bind(py).call1((data, offset))))
    }

    fn value_of<'py>(&self, data: &Bound<'py, PyAny>, offset: usize) -> Outcome<Bound<'py, PyAny>> {
        let py = data.py();
        let copy; // values that are made of mutable data must not change later
        let bytes = if let Ok(bytes) = data.cast_exact::<PyBytes>() {
            bytes.as_bytes()
        } else if data.is_instance_of::<PyByteArray>() || data.is_instance_of::<PyMemoryView>() {
            copy = py.get_type::<PyBytes>().call1((data,))?.cast_into::<PyBytes>().or_irregular()?;
            copy.as_bytes()
        } else {
            return Err(Irregular::HERE);
        };
        let body = bytes.get(offset..).or_irregular()?;
        let mut message = self.message(body, bytes.len());
        let value = self.read(py, self.root, &mut message)?;
        if self.is_whole && message.left() > 0 {
            return Err(Irregular::HERE);
        }
        Ok(value)
    }

    fn read<'py>(&self, py: Python<'py>, node: NodeNumber, message: &mut Message<'_>) -> Outcome<Bound<'py, PyAny>> {
        Ok(match self.nodes.get(node).or_irregular()? {
            Node::Null => PyNone::get(py).to_owned().into_any(),
            Node::Boolean => match message.array()? {
                [0] => PyBool::new(py, false).to_owned().into_any(),
                [1] => PyBool::new(py, true).to_owned().into_any(),
                _ => return Err(Irregular::HERE),
            },
            Node::Int(form) => number(py, message.int()?, form.as_ref())?,
            Node::Long(form) => number(py, message.long()?, form.as_ref())?,
            Node::Float => PyFloat::new(py, f64::from(f32::from_le_bytes(message.array()?))).into_any(),
            Node::Double => PyFloat::new(py, f64::from_le_bytes(message.array()?)).into_any(),
            Node::Bytes(form) => bytes(py, message.sized()?, form.as_ref())?,
            Node::Text(form) => text(py, message.sized()?, form.as_ref())?,
            Node::Fixed(size, form) => bytes(py, message.take(*size)?, form.as_ref())?,
            Node::Enum(values) => {
                let value = values.get(message.size()?).or_irregular()?.as_ref().or_irregular()?;
                value.bind(py).clone().into_any()
            }
            Node::Union(branches) => {
                let branch = *branches.get(message.size()?).or_irregular()?;
                return self.read(py, branch, message);
            }
            Node::Array(items, smallest) => self.read_array(py, *items, *smallest, message)?,
            Node::Map(values) => self.read_map(py, *values, message)?,
            Node::Record(record) => self.read_record(py, record, message)?,
            Node::RawText(form) => text(py, message.take_rest(), form.as_ref())?,
            Node::RawBytes(form) => bytes(py, message.take_rest(), form.as_ref())?,
            Node::Unreadable => return Err(Irregular::HERE),
        })
    }

    fn read_array<'py>(
        &self,
        py: Python<'py>,
        items: NodeNumber,
        smallest: usize,
        message: &mut Message<'_>,
    ) -> Outcome<Bound<'py, PyAny>> {
        message.enter()?;
        let list = PyList::empty(py);
        loop {
            let count = message.block(smallest, false)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                list.append(self.read(py, items, message)?)?;
            }
        }
        message.leave();
        Ok(list.into_any())
    }

    fn read_map<'py>(
        &self,
        py: Python<'py>,
        values: NodeNumber,
        message: &mut Message<'_>,
    ) -> Outcome<Bound<'py, PyAny>> {
        message.enter()?;
        let entries = PyDict::new(py);
        loop {
            let count = message.block(1, false)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let key = PyString::from_bytes(py, message.sized()?)?;
                entries.set_item(key, self.read(py, values, message)?)?;
            }
        }
        message.leave();
        Ok(entries.into_any())
    }

    fn read_record<'py>(
        &self,
        py: Python<'py>,
        record: &Record,
        message: &mut Message<'_>,
    ) -> Outcome<Bound<'py, PyAny>> {
        message.enter()?;
        message.weigh(record.unpaid)?;
        let value = record.template.bind(py).copy()?;
        for (name, default) in &record.copied {
            value.set_item(name, copy_of(default.bind(py))?)?;
        }
        for field in &record.fields {
            match &field.target {
                Some(target) => value.set_item(target, self.read(py, field.node, message)?)?,
                None => self.skip(field.node, message)?,
            }
        }
        message.leave();
        Ok(value.into_any())
    }

    /// Return a message of `size` bytes, its frame included, with the limits of this decoder.
    pub fn message<'data>(&self, body: &'data [u8], size: usize) -> Message<'data> {
        Message::new(body, self.max_empty_items, self.max_weight.saturating_add(size as u64))
    }

    /// Pass over a value; only what its size depends on is read.
    pub fn skip(&self, node: NodeNumber, message: &mut Message<'_>) -> Outcome<()> {
        match self.nodes.get(node).or_irregular()? {
            Node::Null => {}
            Node::Boolean => drop(message.take(1)?),
            Node::Int(_) | Node::Long(_) | Node::Enum(_) => message.skip_number()?,
            Node::Float => drop(message.take(4)?),
            Node::Double => drop(message.take(8)?),
            Node::Bytes(_) | Node::Text(_) => drop(message.sized()?),
            Node::Fixed(size, _) => drop(message.take(*size)?),
            Node::Union(branches) => {
                let branch = *branches.get(message.size()?).or_irregular()?;
                return self.skip(branch, message);
            }
            Node::Array(items, smallest) => self.skip_blocks(*items, *smallest, false, message)?,
            Node::Map(values) => self.skip_blocks(*values, 1, true, message)?,
            Node::Record(record) => {
                message.enter()?;
                for field in &record.fields {
                    self.skip(field.node, message)?;
                }
                message.leave();
            }
            Node::RawText(_) | Node::RawBytes(_) | Node::Unreadable => return Err(Irregular::HERE),
        }
        Ok(())
    }

    fn skip_blocks(
        &self,
        values: NodeNumber,
        smallest: usize,
        has_keys: bool,
        message: &mut Message<'_>,
    ) -> Outcome<()> {
        message.enter()?;
        loop {
            let count = message.block(smallest, true)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                if has_keys {
                    message.sized()?;
                }
                self.skip(values, message)?;
            }
        }
        message.leave();
        Ok(())
    }
}

#[inline]
fn number<'py>(py: Python<'py>, number: i64, form: Option<&Conversion>) -> Outcome<Bound<'py, PyAny>> {
    match form {
        None => Ok(PyInt::new(py, number).into_any()),
        Some(form) => form.value_of_number(py, number),
    }
}

#[inline]
fn bytes<'py>(py: Python<'py>, bytes: &[u8], form: Option<&Conversion>) -> Outcome<Bound<'py, PyAny>> {
    match form {
        None => Ok(PyBytes::new(py, bytes).into_any()),
        Some(form) => form.value_of_bytes(py, bytes),
    }
}

#[inline]
fn text<'py>(py: Python<'py>, bytes: &[u8], form: Option<&Conversion>) -> Outcome<Bound<'py, PyAny>> {
    match form {
        None => Ok(PyString::from_bytes(py, bytes)?.into_any()),
        Some(form) => form.value_of_text(py, bytes),
    }
}

/// Return a copy of a default with its own lists and dicts.
fn copy_of<'py>(default: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(list) = default.cast_exact::<PyList>() {
        let copy = PyList::empty(default.py());
        for item in list {
            copy.append(copy_of(&item)?)?;
        }
        return Ok(copy.into_any());
    }
    if let Ok(entries) = default.cast_exact::<PyDict>() {
        let copy = entries.copy()?;
        for (key, value) in entries {
            copy.set_item(key, copy_of(&value)?)?;
        }
        return Ok(copy.into_any());
    }
    Ok(default.clone())
}

impl Node {
    fn read(node: &Bound<'_, PyTuple>, count: usize) -> PyResult<Self> {
        let kind: String = part(node, 0)?;
        Ok(match kind.as_str() {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "int" => Self::Int(conversion(node, 1)?),
            "long" => Self::Long(conversion(node, 1)?),
            "float" => Self::Float,
            "double" => Self::Double,
            "bytes" => Self::Bytes(conversion(node, 1)?),
            "text" => Self::Text(conversion(node, 1)?),
            "fixed" => Self::Fixed(part(node, 1)?, conversion(node, 2)?),
            "enum" => Self::Enum(part(node, 1)?),
            "array" => Self::Array(checked(part(node, 1)?, count)?, part(node, 2)?),
            "map" => Self::Map(checked(part(node, 1)?, count)?),
            "union" => {
                let branches: Vec<NodeNumber> = part(node, 1)?;
                Self::Union(branches.into_iter().map(|one| checked(one, count)).collect::<PyResult<_>>()?)
            }
            "unreadable" => Self::Unreadable,
            "record" => Self::Record(Record::read(node, count)?),
            "raw text" => Self::RawText(conversion(node, 1)?),
            "raw bytes" => Self::RawBytes(conversion(node, 1)?),
            other => return Err(unknown("step", other)),
        })
    }
}

impl Record {
    fn read(node: &Bound<'_, PyTuple>, count: usize) -> PyResult<Self> {
        let fields: Vec<(Option<Py<PyString>>, NodeNumber)> = part(node, 1)?;
        let template: Bound<'_, PyDict> = part(node, 2)?;
        let names = template.keys();
        let fields = fields
            .into_iter()
            .map(|(target, node)| {
                let node = checked(node, count)?;
                let column = target.as_ref().map(|name| names.index(name)).transpose()?;
                Ok(Field { target, column, node })
            })
            .collect::<PyResult<Vec<_>>>()?;
        let filled = template
            .values()
            .iter()
            .map(Bound::unbind)
            .enumerate()
            .filter(|(number, _)| fields.iter().all(|field| field.column != Some(*number)))
            .collect();
        let (copied, unpaid) = (part(node, 3)?, part(node, 4)?);
        Ok(Self { fields, template: template.unbind(), copied, unpaid, filled })
    }
}
