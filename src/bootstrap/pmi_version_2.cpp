// PMI-2: after a greeting in a line, messages of fields that end with semicolons, each after its length. `srun --mpi=pmi2`.
//
//   cmd=init pmi_version=2 pmi_subversion=0 (a line)     cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0 (a line)
//   fullinit;pmijobid=1.0;pmirank=0;threaded=FALSE       fullinit-response;rc=0;rank=0;size=4;...
//   info-getjobattr;key=PMI_process_mapping              info-getjobattr-response;rc=0;found=TRUE;value=...
//   kvs-put;key=k;value=v                                kvs-put-response;rc=0
//   kvs-fence                                            kvs-fence-response;rc=0
//   kvs-get;jobid=1.0;srcid=-1;key=k                     kvs-get-response;rc=0;found=TRUE;value=v
//   finalize                                             finalize-response;rc=0
//   abort;isworld=TRUE;msg=...

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/pmi_store.hpp"
#include "bootstrap/pmi_wire.hpp"

namespace atl::bootstrap::pmi {
namespace {

/// PMI2_MAX_VALLEN of the published interface, with the end of a string.
constexpr std::size_t value_limit = 1024;

class version_2 final : public store {
 public:
  version_2(int descriptor, std::int32_t rank, std::string const& job) : stream_(descriptor), job_(job) {
    stream_.send("cmd=init pmi_version=2 pmi_subversion=0\n");
    message const hello = parse_line(stream_.receive_line());
    std::string const* const version = hello.find("pmi_version");
    if (hello.command != "response_to_init" || version == nullptr || *version != "2" || hello.refused())
      throw bootstrap_error("the launcher does not speak version 2 of PMI");
    std::string const rank_text = format("%d", rank);
    message const start =
        ask("fullinit", {{"pmijobid", job_}, {"pmirank", rank_text}, {"threaded", "FALSE"}});
    std::int64_t const my_rank = read_number(start.need("rank"), "rank");
    std::int64_t const my_size = read_number(start.need("size"), "size");
    if (my_size < 1 || my_size > INT32_MAX || my_rank < 0 || my_rank >= my_size)
      throw bootstrap_error(format("the launcher's PMI service says rank %lld of %lld",
                                   static_cast<long long>(my_rank), static_cast<long long>(my_size)));
    rank_ = static_cast<std::int32_t>(my_rank);
    size_ = static_cast<std::int32_t>(my_size);
    longest_value_ = value_limit - 1;
  }

  std::string process_mapping() override {
    return found_value(ask("info-getjobattr", {{"key", "PMI_process_mapping"}})).value_or("");
  }
  void put(std::string const& key, std::string const& value) override {
    ask("kvs-put", {{"key", key}, {"value", value}});
  }
  void barrier() override { ask("kvs-fence", {}); }
  std::optional<std::string> get(std::string const& key) override {
    return found_value(ask("kvs-get", {{"jobid", job_}, {"srcid", "-1"}, {"key", key}}));
  }
  void abort(int status) noexcept override {
    try {
      std::string const text = format("atoll: a rank ended the job with status %d", status);
      stream_.send(print_fields("abort", {{"isworld", "TRUE"}, {"msg", text}}));
    } catch (std::exception const&) {  // it is gone, and ends us as well
    }
  }
  void finalize() noexcept override {
    try {
      ask("finalize", {});
    } catch (std::exception const&) {  // as above
    }
  }

 private:
  message ask(std::string const& command,
              std::vector<std::pair<std::string_view, std::string_view>> const& fields) {
    stream_.send(print_fields(command, fields));
    std::string const text = stream_.receive_counted();
    message answer = parse_fields(text);
    if (answer.command != command + "-response") {
      throw bootstrap_error(format("the launcher's PMI service answers `%s` with `%s`", command.c_str(),
                                   text.substr(0, 100).c_str()));
    }
    answer.require_success(command, "errmsg");
    return answer;
  }
  static std::optional<std::string> found_value(message const& answer) {
    std::string const* const found = answer.find("found");
    if (found == nullptr || *found != "TRUE") return std::nullopt;
    return answer.need("value");
  }

  stream stream_;
  std::string job_;
};

}  // namespace

std::unique_ptr<store> connect_version_2(int descriptor, std::int32_t rank, std::string const& job) {
  return std::make_unique<version_2>(descriptor, rank, job);
}

}  // namespace atl::bootstrap::pmi
