// capi/graph/copy_array.h - hands a list to a caller who brought an array for it.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {

// Writes what `convert` makes of each item; fails with kInvalidArgument, naming the argument, if the array is too
// small. Entries beyond the list stay as they are.
template <typename List, typename T, typename Convert>
void CopyArray(const List& list, T* array, std::size_t room, const char* name, Convert convert) {
  if (room < list.size())
    Fail(Code::kInvalidArgument, "argument '", name, "': expected room for ", list.size(), ", found ", room);
  NeedArray(array, list.size(), name);
  std::size_t i = 0;
  for (const auto& item : list) array[i++] = convert(item);
}

template <typename List, typename T>
void CopyArray(const List& list, T* array, std::size_t room, const char* name) {
  CopyArray(list, array, room, name, [](const auto& item) -> T { return item; });
}

}  // namespace sardonyx::capi
