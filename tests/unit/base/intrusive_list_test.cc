#include "base/intrusive_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace pqedge {
namespace {

struct ByAge {};
struct Item : ListNode<Item>, ListNode<ByAge> {
  explicit Item(char c) : letter(c) {}
  char letter;
};
using List = IntrusiveList<Item>;

std::string letters(List& list) {
  std::string all;
  list.for_each([&](Item& i) { all += i.letter; });
  return all;
}

TEST(IntrusiveList, KeepsOrder) {
  Item a('a'), b('b'), c('c');
  List list;
  EXPECT_TRUE(list.empty());
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  EXPECT_EQ(letters(list), "abc");
  EXPECT_EQ(list.front().letter, 'a');
  EXPECT_EQ(list.back().letter, 'c');
  list.push_back(a);  // moves it
  EXPECT_EQ(letters(list), "bca");
  EXPECT_EQ(&list.pop_front(), &b);
  EXPECT_FALSE(static_cast<ListNode<Item>&>(b).linked());
  EXPECT_EQ(letters(list), "ca");
}

TEST(IntrusiveList, ElementsLeaveWhenTheyDie) {
  List list;
  Item a('a');
  list.push_back(a);
  {
    Item b('b');
    list.push_back(b);
    EXPECT_EQ(letters(list), "ab");
  }
  EXPECT_EQ(letters(list), "a");
}

TEST(IntrusiveList, ElementsSurviveTheirList) {
  Item a('a');
  {
    List list;
    list.push_back(a);
  }
  EXPECT_FALSE(static_cast<ListNode<Item>&>(a).linked());
  List other;
  other.push_back(a);
  EXPECT_EQ(letters(other), "a");
}

TEST(IntrusiveList, TagsKeepListsApart) {
  Item a('a');
  List list;
  IntrusiveList<Item, ByAge> by_age;
  list.push_back(a);
  by_age.push_back(a);
  list.pop_front();
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(by_age.front().letter, 'a');
}

TEST(IntrusiveList, Splices) {
  Item a('a'), b('b'), c('c');
  List left, right;
  left.splice_back(right);
  EXPECT_TRUE(left.empty());
  right.push_back(a);
  right.push_back(b);
  left.splice_back(right);
  EXPECT_TRUE(right.empty());
  EXPECT_EQ(letters(left), "ab");
  right.push_back(c);
  left.splice_back(right);
  EXPECT_EQ(letters(left), "abc");
}

TEST(IntrusiveList, AVisitorMayDestroyTheElementItSees) {
  List list;
  for (char c : std::string_view("abcd")) list.push_back(*new Item(c));
  std::string seen;
  list.for_each([&](Item& i) {
    seen += i.letter;
    delete &i;
  });
  EXPECT_EQ(seen, "abcd");
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace pqedge
