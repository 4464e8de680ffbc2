#pragma once

#include <string>
#include <vector>

#include "schemas/wire/message.h"

namespace headrace::wire {

struct GoldenMessage {
  std::string name;  // schemas/golden/v1/messages/<name>.bin: header, then body
  Body body;
};

// One message of each type as release 0.1 wrote it. Fields added later must stay unset here; their
// frozen bytes go to schemas/golden/v2.
[[nodiscard]] std::vector<GoldenMessage> GoldenMessages();
[[nodiscard]] Plan GoldenPlan();            // plan.bin, by EncodePlan
[[nodiscard]] Plan GoldenViews();           // plan_of_views.bin: a graph
[[nodiscard]] Plan GoldenPictures();        // plan_of_pictures.bin: a graph of several pictures
[[nodiscard]] Plan GoldenLists();           // plan_of_lists.bin: samples with shapes of their own
[[nodiscard]] FileTable GoldenFileTable();  // file_table.bin, by EncodeFileTable

}  // namespace headrace::wire
