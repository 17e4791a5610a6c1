// bindings/python/src/value.cpp - converts tensors, strings, sequences, maps and optionals between Python and OrtValue.
#include "value.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace sardonyx::python {
namespace {

nb::module_ Numpy() { return nb::module_::import_("numpy"); }

bool IsArray(nb::handle object) {
  static PyObject* const type = nb::object(Numpy().attr("ndarray")).release().ptr();
  return PyObject_IsInstance(object.ptr(), type) == 1;
}

int BitsOf(int element_type) {
  switch (element_type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1:
      return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
      return 2;
    default:
      return 8;  // or more
  }
}

// "tensor(float)" -> 1; 0 if the text is not a tensor type.
int ElementTypeFromText(std::string_view text) {
  constexpr std::string_view kPrefix = "tensor(";
  const auto begin = text.find(kPrefix);
  if (begin != 0) return 0;
  const std::string_view name = text.substr(kPrefix.size(), text.find(')') - kPrefix.size());
  for (int i = 1; i < 27; ++i)
    if (name == ElementTypeName(i)) return i;
  return 0;
}

// The text between the outer parentheses: "seq(tensor(float))" -> "tensor(float)".
std::string Inner(const std::string& text) {
  const auto begin = text.find('('), end = text.rfind(')');
  return begin == std::string::npos || end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

std::vector<std::int64_t> ShapeOf(nb::handle array) {
  std::vector<std::int64_t> shape;
  for (const nb::handle dim : nb::tuple(array.attr("shape"))) shape.push_back(nb::cast<std::int64_t>(dim));
  return shape;
}

void* AddressOf(nb::handle array) {
  Py_buffer view;
  // The buffer interface does not know ml_dtypes: their arrays arrive as unsigned integers.
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  void* data = view.buf;
  PyBuffer_Release(&view);  // the array keeps its memory
  return data;
}

ValuePtr StringTensor(nb::handle array) {
  const std::vector<std::int64_t> shape = ShapeOf(array);
  OrtValue* value = nullptr;
  Check(Ort().CreateTensorAsOrtValue(DefaultAllocator(), shape.data(), shape.size(),
                                     ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &value));
  ValuePtr owned(value);
  // Texts of a fixed length become objects, and elements in another order (columns first, every second) are copied.
  const nb::object kept = Numpy().attr("ascontiguousarray")(array, "object");
  auto* const* items = static_cast<PyObject* const*>(AddressOf(kept));
  const auto count = nb::cast<std::size_t>(kept.attr("size"));
  for (std::size_t at = 0; at < count; ++at) {
    nb::object text = nb::borrow(items[at] != nullptr ? items[at] : Py_None);
    const bool is_bytes = PyBytes_Check(text.ptr());
    if (!is_bytes && !PyUnicode_Check(text.ptr())) text = nb::str(text);
    Py_ssize_t size = is_bytes ? PyBytes_GET_SIZE(text.ptr()) : 0;
    const char* bytes = is_bytes ? PyBytes_AS_STRING(text.ptr()) : PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (bytes == nullptr) throw nb::python_error();
    char* element = nullptr;  // of this size, because a text may have a NUL inside
    Check(Ort().GetResizedStringTensorElementBuffer(value, at, static_cast<std::size_t>(size), &element));
    std::copy_n(bytes, size, element);
  }
  return owned;
}

// Elements of 2 or 4 bits have a byte each in NumPy. They are packed here, the first one in the low bits.
ValuePtr PackedTensor(nb::handle array, int element_type) {
  const std::vector<std::int64_t> shape = ShapeOf(array);
  const nb::object bytes = Numpy().attr("ascontiguousarray")(array).attr("view")("uint8");
  const auto count = nb::cast<std::size_t>(bytes.attr("size"));
  const auto* from = static_cast<const std::uint8_t*>(AddressOf(bytes));
  OrtValue* value = nullptr;
  Check(Ort().CreateTensorAsOrtValue(DefaultAllocator(), shape.data(), shape.size(),
                                     static_cast<ONNXTensorElementDataType>(element_type), &value));
  ValuePtr owned(value);
  void* data = nullptr;
  Check(Ort().GetTensorMutableData(value, &data));
  auto* to = static_cast<std::uint8_t*>(data);
  const int bits = BitsOf(element_type);
  const std::size_t each = 8 / static_cast<std::size_t>(bits);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % each == 0) to[i / each] = 0;
    const unsigned element = from[i] & ((1u << bits) - 1);
    to[i / each] = static_cast<std::uint8_t>(to[i / each] | (element << (bits * (i % each))));
  }
  return owned;
}

std::string DTypeName(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  return nb::cast<std::string>(nb::str(dtype));
}

HeldValue FromArray(nb::object array) {
  int element_type = ElementTypeOf(array.attr("dtype"));
  if (element_type == 0) {
    const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    if (kind == "U" || kind == "S" || kind == "O" || kind == "T") return {StringTensor(array), nb::none()};
    if (!nb::cast<bool>(array.attr("dtype").attr("isnative"))) {
      array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
      element_type = ElementTypeOf(array.attr("dtype"));
    }
  }
  if (element_type == 0)
    throw StatusError(ORT_INVALID_ARGUMENT,
                      "expected a NumPy array whose elements have a type in ONNX, found dtype " + DTypeName(array));
  if (element_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return {StringTensor(array), nb::none()};
  if (BitsOf(element_type) < 8) return {PackedTensor(array, element_type), nb::none()};
  return TensorFromArray(array, element_type);
}

// A silent conversion would hide a mistake; the error says how to convert.
void CheckType(nb::handle dtype, int wanted) {
  const int found = ElementTypeOf(dtype);
  if (wanted == 0 || found == wanted || wanted == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return;
  const std::string name = nb::cast<std::string>(nb::str(dtype));
  if (found == 0 && !nb::cast<bool>(dtype.attr("isnative"))) return;  // made native, then checked again
  const std::string message = std::string("expected elements of type ") + ElementTypeName(wanted) + ", found " +
                              (found != 0 ? ElementTypeName(found) : "an array of dtype " + name) +
                              ": convert the array with .astype('" +
                              nb::cast<std::string>(nb::str(NumpyDType(wanted))) + "')";
  const std::string kind = nb::cast<std::string>(dtype.attr("kind"));
  if (kind == "c" || (found == 0 && kind != "U" && kind != "S" && kind != "O" && kind != "T"))
    throw std::runtime_error(message);
  throw StatusError(ORT_INVALID_ARGUMENT, message);
}

HeldValue FromList(nb::handle object, const std::string& type) {
  const std::string inner = Inner(type);
  std::vector<HeldValue> items;
  std::vector<const OrtValue*> values;
  for (const nb::handle item : nb::list(object)) {
    items.push_back(FromPython(item, inner));
    values.push_back(items.back().value.get());
  }
  OrtValue* made = nullptr;
  Check(Ort().CreateValue(values.data(), values.size(), ONNX_TYPE_SEQUENCE, &made));
  return {ValuePtr(made), nb::none()};
}

// The keys or values of a dict as an array of a map's element type. Whole numbers may become floating-point ones, as in
// a list; any other conversion would hide a mistake.
nb::object MapPart(const nb::list& items, int element, const std::string& what) {
  const nb::object found = Numpy().attr("array")(items);
  if (element <= 0) return found;
  const bool text = element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  const bool whole = element == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  const std::string kind = nb::cast<std::string>(found.attr("dtype").attr("kind"));
  if (nb::len(items) != 0 && std::string_view(text ? "USOT" : whole ? "biu" : "biuf").find(kind) == std::string::npos)
    throw StatusError(ORT_INVALID_ARGUMENT, "map: expected " + what + " that are " +
                                                (text    ? "texts"
                                                 : whole ? "whole numbers"
                                                         : "numbers") +
                                                ", found elements of dtype " + DTypeName(found));
  return Numpy().attr("array")(items, text ? nb::object(nb::str("object")) : NumpyDType(element));
}

HeldValue FromDict(nb::handle object, const std::string& type) {
  const std::string inner = Inner(type);
  const auto comma = inner.find(',');
  const std::string key = "tensor(" + inner.substr(0, comma) + ")",
                    value = comma == std::string::npos ? "" : inner.substr(inner.find_first_not_of(' ', comma + 1));
  const nb::dict dict = nb::borrow<nb::dict>(object);
  HeldValue held[2] = {FromArray(MapPart(dict.keys(), ElementTypeFromText(key), "keys")),
                       FromArray(MapPart(dict.values(), ElementTypeFromText(value), "values"))};
  const OrtValue* parts[2] = {held[0].value.get(), held[1].value.get()};
  OrtValue* made = nullptr;
  Check(Ort().CreateValue(parts, 2, ONNX_TYPE_MAP, &made));
  return {ValuePtr(made), nb::none()};
}

nb::object StringArray(const OrtValue* value, const std::vector<std::int64_t>& shape) {
  std::size_t total = 0, count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  Check(Ort().GetStringTensorDataLength(value, &total));
  std::string bytes(total, '\0');
  std::vector<std::size_t> offsets(count);
  if (count != 0) Check(Ort().GetStringTensorContent(value, bytes.data(), total, offsets.data(), count));
  nb::object array = Numpy().attr("empty")(nb::int_(count), "object");
  auto* const items = static_cast<PyObject**>(AddressOf(array));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 < count ? offsets[i + 1] : total;
    PyObject* text =
        PyUnicode_DecodeUTF8(bytes.data() + offsets[i], static_cast<Py_ssize_t>(end - offsets[i]), "surrogateescape");
    if (text == nullptr) throw nb::python_error();
    Py_XDECREF(std::exchange(items[i], text));  // NumPy's None
  }
  nb::list dims;
  for (const std::int64_t dim : shape) dims.append(nb::int_(dim));
  return array.attr("reshape")(nb::tuple(dims));
}

nb::object UnpackedArray(const std::uint8_t* from, int element_type, const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  nb::list dims;
  for (const std::int64_t dim : shape) {
    count *= static_cast<std::size_t>(dim);
    dims.append(nb::int_(dim));
  }
  nb::object array = Numpy().attr("empty")(nb::int_(count), "uint8");
  auto* to = static_cast<std::uint8_t*>(AddressOf(array));
  const int bits = BitsOf(element_type);
  const std::size_t each = 8 / static_cast<std::size_t>(bits);
  const bool is_signed =
      element_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 || element_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned element =
        (static_cast<unsigned>(from[i / each]) >> (static_cast<std::size_t>(bits) * (i % each))) & ((1u << bits) - 1);
    if (is_signed && (element >> (bits - 1)) != 0) element |= 0xffu << bits;  // ml_dtypes sign-extends to the byte
    to[i] = static_cast<std::uint8_t>(element);
  }
  return array.attr("view")(NumpyDType(element_type)).attr("reshape")(nb::tuple(dims));
}

nanobind::dlpack::dtype CarrierType(int element_type, bool* view) {
  using Code = nb::dlpack::dtype_code;
  const auto make = [](Code code, int bits) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  };
  *view = false;
  switch (element_type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return make(Code::Float, 32);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return make(Code::Float, 64);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return make(Code::Float, 16);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return make(Code::UInt, 8);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return make(Code::Int, 8);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return make(Code::UInt, 16);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return make(Code::Int, 16);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return make(Code::Int, 32);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return make(Code::Int, 64);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return make(Code::UInt, 32);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return make(Code::UInt, 64);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return make(Code::Bool, 8);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64:
      return make(Code::Complex, 64);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128:
      return make(Code::Complex, 128);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      *view = true;
      return make(Code::UInt, 16);
    default:
      *view = true;
      return make(Code::UInt, 8);
  }
}

TensorTypeAndShapeInfoPtr InfoOf(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(Ort().GetTensorTypeAndShape(value, &info));
  return TensorTypeAndShapeInfoPtr(info);
}

std::vector<std::int64_t> DimsOf(const OrtTensorTypeAndShapeInfo* info) {
  std::size_t rank = 0;
  Check(Ort().GetDimensionsCount(info, &rank));
  std::vector<std::int64_t> shape(rank);
  Check(Ort().GetDimensions(info, shape.data(), rank));
  return shape;
}

nb::object TensorToPython(ValuePtr value) {
  ONNXTensorElementDataType type{};
  Check(Ort().GetTensorElementType(InfoOf(value.get()).get(), &type));
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return StringArray(value.get(), DimsOf(InfoOf(value.get()).get()));
  const OrtValue* held = value.get();
  const nb::capsule owner(value.release(), [](void* p) noexcept { Ort().ReleaseValue(static_cast<OrtValue*>(p)); });
  return TensorView(held, owner);
}

ValuePtr Element(const OrtValue* value, int index) {
  OrtValue* item = nullptr;
  Check(Ort().GetValue(value, index, DefaultAllocator(), &item));
  return ValuePtr(item);
}

// Whether NumberAt can read `type`.
bool IsMapNumber(ONNXTensorElementDataType type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
}

// A number among the keys or values of a map.
nb::object NumberAt(ONNXTensorElementDataType type, const void* data, std::size_t i) {
  PyObject* const number = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64
                               ? PyLong_FromLongLong(static_cast<const std::int64_t*>(data)[i])
                           : type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
                               ? PyFloat_FromDouble(static_cast<double>(static_cast<const float*>(data)[i]))
                               : PyFloat_FromDouble(static_cast<const double*>(data)[i]);
  if (number == nullptr) throw nb::python_error();
  return nb::steal(number);
}

// Converts maps to dicts. Keys that the maps of a sequence share are converted once.
class MapReader {
 public:
  // `value` is a map, or a sequence with a map at `index`.
  nb::object Read(const OrtValue* value, std::size_t index, bool in_sequence) {
    const void *keys = nullptr, *values = nullptr;
    std::size_t count = 0;
    ONNXTensorElementDataType key_type{}, value_type{};
    Check(Own().MapContents(value, index, &key_type, &keys, &value_type, &values, &count));
    if (keys == nullptr || keys != keys_ || count != key_objects_.size()) {
      key_objects_ = Objects(value, index, in_sequence, 0, key_type, keys, count);
      keys_ = keys;
    }
    std::vector<nb::object> slow;
    if (!IsMapNumber(value_type)) slow = Objects(value, index, in_sequence, 1, value_type, values, count);
    nb::object map = nb::steal(PyDict_New());
    if (!map.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < count; ++i) {
      const nb::object item = slow.empty() ? NumberAt(value_type, values, i) : slow[i];
      if (PyDict_SetItem(map.ptr(), key_objects_[i].ptr(), item.ptr()) != 0) throw nb::python_error();
    }
    return map;
  }

 private:
  static std::vector<nb::object> Objects(const OrtValue* value, std::size_t index, bool in_sequence, int part,
                                         ONNXTensorElementDataType type, const void* data, std::size_t count) {
    std::vector<nb::object> objects;
    objects.reserve(count);
    if (IsMapNumber(type)) {
      for (std::size_t i = 0; i < count; ++i) objects.push_back(NumberAt(type, data, i));
      return objects;
    }
    const ValuePtr map = in_sequence ? Element(value, static_cast<int>(index)) : nullptr;
    const nb::list items(ToPython(Element(in_sequence ? map.get() : value, part)).attr("tolist")());
    for (const nb::handle item : items) objects.push_back(nb::borrow(item));
    return objects;
  }

  const void* keys_ = nullptr;  // of the previous map
  std::vector<nb::object> key_objects_;
};

}  // namespace

HeldValue TensorFromArray(nb::handle given, int element_type) {
  nb::object array = nb::borrow(given);
  const std::vector<std::int64_t> shape = ShapeOf(array);
  if (!nb::cast<bool>(array.attr("flags").attr("c_contiguous")))
    array = Numpy().attr("ascontiguousarray")(array).attr("reshape")(given.attr("shape"));
  const auto item_size = nb::cast<std::size_t>(array.attr("itemsize"));
  nb::object plain = array;
  if (nb::cast<std::string>(array.attr("dtype").attr("kind")) == "V" ||
      element_type >= ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16)
    plain = array.attr("view")(item_size == 2 ? "uint16" : "uint8");
  void* data = AddressOf(plain);
  OrtValue* value = nullptr;
  CheckPlainly(Ort().CreateTensorWithDataAsOrtValue(HostMemory(), data, nb::cast<std::size_t>(array.attr("nbytes")),
                                                    shape.data(), shape.size(),
                                                    static_cast<ONNXTensorElementDataType>(element_type), &value));
  return {ValuePtr(value), plain};
}

HeldValue FromPython(nb::handle object, const std::string& type) {
  if (StartsWith(type, "optional(")) {
    if (object.is_none()) return {nullptr, nb::none()};
    return FromPython(object, Inner(type));
  }
  if (IsArray(object)) {
    CheckType(object.attr("dtype"), ElementTypeFromText(type));
    return FromArray(nb::borrow(object));
  }
  if (StartsWith(type, "seq(") && (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())))
    return FromList(object, type);
  if (PyDict_Check(object.ptr())) return FromDict(object, type);
  if (object.is_none()) throw StatusError(ORT_INVALID_ARGUMENT, "expected a value of type " + type + ", found None");
  const int element = ElementTypeFromText(type);
  if (element == 0 && PyList_Check(object.ptr())) return FromList(object, type);
  const nb::object dtype = element > 0 ? NumpyDType(element) : nb::object(nb::none());
  nb::object array;
  try {
    array = Numpy().attr("asarray")(object, dtype);
  } catch (nb::python_error& error) {  // ONNX Runtime's package raises the same for all that it makes nothing of
    throw std::runtime_error("expected a value of type " + (type.empty() ? "tensor" : type) + ", found '" +
                             nb::cast<std::string>(nb::str(object.type().attr("__name__"))) + "': " + error.what());
  }
  return FromArray(array);
}

nb::object Shown(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object TensorView(const OrtValue* value, const nb::object& owner) {
  const TensorTypeAndShapeInfoPtr info = InfoOf(value);
  ONNXTensorElementDataType type{};
  Check(Ort().GetTensorElementType(info.get(), &type));
  const std::vector<std::int64_t> shape = DimsOf(info.get());
  const void* from = nullptr;
  Check(Ort().GetTensorData(value, &from));
  if (BitsOf(type) < 8) return UnpackedArray(static_cast<const std::uint8_t*>(from), type, shape);
  auto* data = const_cast<void*>(from);
  const std::vector<std::size_t> dims(shape.begin(), shape.end());
  constexpr std::size_t kMostOfNumpy = 64;
  if (dims.size() > kMostOfNumpy)
    throw StatusError(ORT_FAIL,
                      "expected a tensor of at most 64 dimensions for NumPy, found " + std::to_string(dims.size()));
  bool view = false;
  const auto carrier = CarrierType(type, &view);
  static char nothing;  // an empty tensor has no address, but NumPy needs one
  nb::ndarray<nb::numpy> array(data != nullptr ? data : &nothing, dims.size(), dims.data(), owner, nullptr, carrier);
  nb::object object = nb::cast(array, nb::rv_policy::reference);
  return view ? object.attr("view")(NumpyDType(type)) : object;
}

nb::object DlpackView(const OrtValue* value, const nb::object& owner, int device_type, int device_id) {
  const TensorTypeAndShapeInfoPtr info = InfoOf(value);
  ONNXTensorElementDataType type{};
  Check(Ort().GetTensorElementType(info.get(), &type));
  const std::vector<std::int64_t> shape = DimsOf(info.get());
  const std::vector<std::size_t> dims(shape.begin(), shape.end());
  const void* data = nullptr;
  Check(Ort().GetTensorData(value, &data));
  bool view = false;
  auto carrier = CarrierType(type, &view);
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16)  // NumPy has no such type, but DLPack and PyTorch do
    carrier.code = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat);
  const nb::ndarray<> array(const_cast<void*>(data), dims.size(), dims.data(), owner, nullptr, carrier, device_type,
                            device_id);
  return nb::cast(array, nb::rv_policy::reference);
}

nb::object ToPython(ValuePtr value) {
  if (!value) return nb::none();
  ONNXType type = ONNX_TYPE_UNKNOWN;
  Check(Ort().GetValueType(value.get(), &type));
  if (type == ONNX_TYPE_TENSOR) return TensorToPython(std::move(value));
  if (type == ONNX_TYPE_SPARSETENSOR) return SparseToPython(std::move(value));
  return ToPythonCopy(value.get());
}

nb::object ToPythonCopy(const OrtValue* value) {
  int present = 1;
  ONNXType type = ONNX_TYPE_UNKNOWN;
  Check(Ort().GetValueType(value, &type));
  Check(Ort().HasValue(value, &present));
  if (present == 0 || type == ONNX_TYPE_UNKNOWN) return nb::none();
  if (type == ONNX_TYPE_TENSOR) return StringArray(value, DimsOf(InfoOf(value).get()));
  std::size_t count = 0;
  if (type == ONNX_TYPE_SEQUENCE) {
    Check(Ort().GetValueCount(value, &count));
    nb::list items;
    MapReader maps;
    for (std::size_t i = 0; i < count; ++i) {
      const bool map = i > 0 && PyDict_Check(nb::object(items[0]).ptr());  // all elements of a sequence have one type
      items.append(map ? maps.Read(value, i, true) : ToPython(Element(value, static_cast<int>(i))));
    }
    return items;
  }
  if (type == ONNX_TYPE_MAP) return MapReader().Read(value, 0, false);
  throw StatusError(ORT_NOT_IMPLEMENTED,
                    "values of ONNX type " + std::to_string(static_cast<int>(type)) + " cannot be converted to NumPy");
}

}  // namespace sardonyx::python
