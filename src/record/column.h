#pragma once
/// Columns of whole numbers that say where the samples of a Series stand, several times smaller
/// than vectors of 64 bits, and read like them (`column[i]`, `front()`, `begin()`).
///
/// PackedColumn, for what grows slowly (steps, lines, bytes): four bytes a number, counted from a
/// base that is written anew where a number lies below it or 2^32 beyond. A column of zeros (the
/// lines of an artifact without lines) takes nothing.
/// RunColumn, for what hardly ever changes (segments): one entry a change.
///
/// Numbers are given by value: iterators are for algorithms that read.
///
/// SpreadAllocator: readers append to dozens of columns in turn, each at the same index. Blocks of
/// memory from the system all begin at the same byte of a page, so that equal indices would fight
/// for one set of the first-level cache; it shifts each block of a page or more by another line of
/// a page.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace aplomb::record {

template <class Number>
class SpreadAllocator {
 public:
  using value_type = Number;

  SpreadAllocator() = default;
  template <class Other>
  SpreadAllocator(const SpreadAllocator<Other>&) {
  }  // NOLINT(google-explicit-constructor): asked for by the standard

  Number* allocate(std::size_t count) {
    if (count > k_most_bytes / sizeof(Number)) throw std::bad_alloc();
    if (is_small(count)) return static_cast<Number*>(::operator new(count * sizeof(Number)));
    static std::atomic<std::size_t> blocks{0};
    const std::size_t line = 1 + blocks.fetch_add(1, std::memory_order_relaxed) % (k_lines - 1);
    auto* const block = static_cast<std::byte*>(::operator new(count * sizeof(Number) + k_page));
    std::byte* const numbers = block + line * k_line;
    std::memcpy(numbers - sizeof block, &block, sizeof block);  // NOLINT(bugprone-multi-level*)
    return reinterpret_cast<Number*>(numbers);
  }
  void deallocate(Number* numbers, std::size_t count) {
    if (is_small(count)) {
      ::operator delete(numbers);
      return;
    }
    std::byte* block = nullptr;  // NOLINTBEGIN(bugprone-multi-level*)
    std::memcpy(&block, reinterpret_cast<std::byte*>(numbers) - sizeof block, sizeof block);
    ::operator delete(block);  // NOLINTEND(bugprone-multi-level*)
  }
  friend bool operator==(const SpreadAllocator&, const SpreadAllocator&) { return true; }

 private:
  static bool is_small(std::size_t count) { return count * sizeof(Number) < k_page; }
  static constexpr std::size_t k_line = 64;
  static constexpr std::size_t k_page = 4096;
  static constexpr std::size_t k_lines = k_page / k_line;
  static constexpr std::size_t k_most_bytes = std::numeric_limits<std::size_t>::max() / 2;
};

/// A vector of plain numbers whose appending is one comparison and one store.
template <class Number>
class SpreadBuffer {
 public:
  SpreadBuffer() = default;
  SpreadBuffer(const SpreadBuffer& other) {
    reserve(other.size());
    for (std::size_t i = 0; i < other.size(); ++i) append(other[i]);
  }
  SpreadBuffer(SpreadBuffer&& other) noexcept { swap(other); }
  SpreadBuffer& operator=(SpreadBuffer other) noexcept {
    swap(other);
    return *this;
  }
  ~SpreadBuffer() {
    if (begin_ != nullptr) allocator().deallocate(begin_, capacity());
  }

  std::size_t size() const { return static_cast<std::size_t>(next_ - begin_); }
  bool empty() const { return next_ == begin_; }
  bool full() const { return next_ == end_; }  ///< also before the first number
  Number operator[](std::size_t index) const { return begin_[index]; }
  Number& operator[](std::size_t index) { return begin_[index]; }
  /// The buffer must not be full.
  void append(Number number) { *next_++ = number; }
  void cut(std::size_t size) { next_ = begin_ + size; }
  void reserve(std::size_t count) {
    if (count <= capacity()) return;
    Number* const block = allocator().allocate(count);
    const std::size_t used = size();
    if (begin_ != nullptr) {
      std::memcpy(block, begin_, used * sizeof(Number));
      allocator().deallocate(begin_, capacity());
    }
    begin_ = block;
    next_ = block + used;
    end_ = block + count;
  }

 private:
  static SpreadAllocator<Number> allocator() { return {}; }
  std::size_t capacity() const { return static_cast<std::size_t>(end_ - begin_); }
  void swap(SpreadBuffer& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(next_, other.next_);
    std::swap(end_, other.end_);
  }

  Number* begin_ = nullptr;
  Number* next_ = nullptr;
  Number* end_ = nullptr;
};

/// Reads a column front to back or anywhere, by index.
template <class Column>
class ColumnIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Column::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  ColumnIterator() = default;
  ColumnIterator(const Column* column, std::size_t at) : column_(column), at_(at) {}

  value_type operator*() const { return (*column_)[at_]; }
  value_type operator[](difference_type n) const { return *(*this + n); }
  ColumnIterator& operator++() { return *this += 1; }
  ColumnIterator& operator--() { return *this += -1; }
  ColumnIterator operator++(int) { return std::exchange(*this, *this + 1); }
  ColumnIterator operator--(int) { return std::exchange(*this, *this + -1); }
  ColumnIterator& operator+=(difference_type n) {
    at_ = static_cast<std::size_t>(static_cast<difference_type>(at_) + n);
    return *this;
  }
  ColumnIterator& operator-=(difference_type n) { return *this += -n; }
  friend ColumnIterator operator+(ColumnIterator a, difference_type n) { return a += n; }
  friend ColumnIterator operator+(difference_type n, ColumnIterator a) { return a += n; }
  friend ColumnIterator operator-(ColumnIterator a, difference_type n) { return a -= n; }
  friend difference_type operator-(const ColumnIterator& a, const ColumnIterator& b) {
    return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
  }
  friend bool operator==(const ColumnIterator& a, const ColumnIterator& b) {
    return a.at_ == b.at_;
  }
  friend auto operator<=>(const ColumnIterator& a, const ColumnIterator& b) {
    return a.at_ <=> b.at_;
  }

 private:
  const Column* column_ = nullptr;
  std::size_t at_ = 0;
};

/// What the columns share: all that operator[] and size() give.
template <class Column, class Number>
class ReadableColumn {  // NOLINT(bugprone-crtp*)
 public:
  using value_type = Number;
  using const_iterator = ColumnIterator<Column>;

  bool empty() const { return self().size() == 0; }
  Number front() const { return self()[0]; }
  Number back() const { return self()[self().size() - 1]; }
  const_iterator begin() const { return {&self(), 0}; }
  const_iterator end() const { return {&self(), self().size()}; }
  operator std::vector<Number>() const { return {begin(), end()}; }  ///< a copy
  friend bool operator==(const Column& a, const Column& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const Column& a, const std::vector<Number>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  const Column& self() const { return static_cast<const Column&>(*this); }
};

template <class Number>
class PackedColumn : public ReadableColumn<PackedColumn<Number>, Number> {
 public:
  std::size_t size() const { return zeros_ + low_.size(); }

  /// O(1) up to the first change of base, then O(log of the bases).
  Number operator[](std::size_t index) const {
    if (low_.empty()) return 0;
    return static_cast<Number>(base_at(bases_, index) + low_[index]);
  }

  void push_back(Number number) {
    const std::uint64_t low = static_cast<std::uint64_t>(number) - base_;
    if (low <= k_most && !low_.full()) {
      low_.append(static_cast<std::uint32_t>(low));
    } else if (low == 0 && low_.empty()) {
      ++zeros_;
    } else {
      push_slowly(number);
    }
  }

  /// Keeps the numbers at these places (rising), drops the others.
  void keep(const std::vector<std::uint32_t>& places) {
    if (low_.empty()) {
      zeros_ = places.size();
      return;
    }
    if (bases_.empty()) {
      for (std::size_t i = 0; i < places.size(); ++i) low_[i] = low_[places[i]];
    } else {
      keep_with_bases(places);
    }
    low_.cut(places.size());
  }

 private:
  static constexpr std::uint64_t k_most = 0xFFFFFFFFU;
  static constexpr std::size_t k_least_room = 16;
  /// Four, not two: a third of the copying, and pages that are never touched cost nothing.
  static constexpr std::size_t k_growth = 4;
  struct Base {
    std::size_t first = 0;  ///< the number from which on it counts
    std::uint64_t at = 0;
  };

  static std::uint64_t base_at(const std::vector<Base>& bases, std::size_t index) {
    if (bases.empty() || index < bases.front().first) return 0;
    const auto after =
        std::upper_bound(bases.begin(), bases.end(), index,
                         [](std::size_t wanted, const Base& base) { return wanted < base.first; });
    return std::prev(after)->at;
  }

  /// The first number after zeros, one that needs a base of its own, or more memory.
  [[gnu::noinline]] void push_slowly(Number number) {
    if (low_.empty()) {
      low_.reserve(zeros_ + 1);
      for (; zeros_ > 0; --zeros_) low_.append(0);
    }
    const auto whole = static_cast<std::uint64_t>(number);
    if (whole - base_ > k_most) {
      base_ = whole;
      bases_.push_back({low_.size(), base_});
    }
    if (low_.full()) low_.reserve(std::max(k_least_room, k_growth * low_.size()));
    low_.append(static_cast<std::uint32_t>(whole - base_));
  }

  void keep_with_bases(const std::vector<std::uint32_t>& places) {
    const std::vector<Base> before = std::exchange(bases_, {});
    base_ = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t number = base_at(before, places[i]) + low_[places[i]];
      if (number - base_ > k_most) {
        base_ = number;
        bases_.push_back({i, base_});
      }
      low_[i] = static_cast<std::uint32_t>(number - base_);
    }
  }

  SpreadBuffer<std::uint32_t> low_;  ///< empty while all are zero
  std::vector<Base> bases_;          ///< none: counted from 0
  std::uint64_t base_ = 0;           ///< the last of them
  std::size_t zeros_ = 0;            ///< so many, while low_ is empty
};

template <class Number>
class RunColumn : public ReadableColumn<RunColumn<Number>, Number> {
 public:
  std::size_t size() const { return size_; }

  Number operator[](std::size_t index) const {
    if (runs_.size() == 1) return runs_.front().value;
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), index,
                         [](std::size_t wanted, const Run& run) { return wanted < run.first; });
    return std::prev(after)->value;
  }

  void push_back(Number number) {
    if (size_ == 0 || last_ != number) begin_run(number);
    ++size_;
  }

  void keep(const std::vector<std::uint32_t>& places) {
    RunColumn kept;
    for (const std::uint32_t at : places) kept.push_back((*this)[at]);
    *this = std::move(kept);
  }

 private:
  struct Run {
    std::size_t first = 0;
    Number value = 0;
  };
  [[gnu::noinline]] void begin_run(Number number) {
    runs_.push_back({size_, number});
    last_ = number;
  }

  std::vector<Run> runs_;
  std::size_t size_ = 0;
  Number last_ = 0;
};

}  // namespace aplomb::record
