// A doubly linked list through members of its elements: O(1) removal, no allocation.
#pragma once

#include <cstddef>

namespace pqedge {

// Base of an element; the Tag is the element itself, or a name where it is in several lists. An
// element is in at most one list a Tag; it leaves its list when destroyed.
template <typename Tag>
class ListNode {
 public:
  ListNode() = default;
  ~ListNode() { unlink(); }
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (next_ == nullptr) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    next_ = prev_ = nullptr;
  }

 private:
  template <typename T, typename G>
  friend class IntrusiveList;
  ListNode* next_ = nullptr;
  ListNode* prev_ = nullptr;
};

template <typename T, typename Tag = T>
class IntrusiveList {
 public:
  IntrusiveList() { head_.next_ = head_.prev_ = &head_; }
  ~IntrusiveList() {
    while (!empty()) pop_front();
    head_.next_ = head_.prev_ = nullptr;
  }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return head_.next_ == &head_; }
  T& front() { return static_cast<T&>(*head_.next_); }
  T& back() { return static_cast<T&>(*head_.prev_); }
  void push_back(T& element) { insert_before(head_, element); }
  void push_front(T& element) { insert_before(*head_.next_, element); }
  T& pop_front() {
    T& e = front();
    static_cast<ListNode<Tag>&>(e).unlink();
    return e;
  }
  // Moves every element of `other` to the end of this list.
  void splice_back(IntrusiveList& other) {
    if (other.empty()) return;
    ListNode<Tag>* first = other.head_.next_;
    ListNode<Tag>* last = other.head_.prev_;
    other.head_.next_ = other.head_.prev_ = &other.head_;
    first->prev_ = head_.prev_;
    head_.prev_->next_ = first;
    last->next_ = &head_;
    head_.prev_ = last;
  }
  // Calls visit(element) for each; visit may unlink or destroy that element, no other.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (ListNode<Tag>* n = head_.next_; n != &head_;) {
      ListNode<Tag>* next = n->next_;
      visit(static_cast<T&>(*n));
      n = next;
    }
  }

 private:
  static void insert_before(ListNode<Tag>& place, T& element) {
    auto& node = static_cast<ListNode<Tag>&>(element);
    node.unlink();
    node.prev_ = place.prev_;
    node.next_ = &place;
    place.prev_->next_ = &node;
    place.prev_ = &node;
  }
  ListNode<Tag> head_;
};

}  // namespace pqedge
